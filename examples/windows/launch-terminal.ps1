<#
.SYNOPSIS
  Opens a console window for one agent and registers it with loop.
.EXAMPLE
  .\launch-terminal.ps1 -Name CC -Program claude -Arguments '--permission-mode','acceptEdits'
.NOTES
  Run it in the repository. Run it again after the window was closed: the new window takes the old one's place.
#>
[CmdletBinding()]
param(
    [Parameter(Mandatory)] [ValidatePattern('^\p{L}[\p{L}\p{M}\p{N}_.-]{0,31}$')] [string] $Name,
    [Parameter(Mandatory)] [string] $Program,
    [string[]] $Arguments = @(),
    [string] $Repository = (Get-Location).Path,
    [string] $Loop = 'loop'
)
$ErrorActionPreference = 'Stop'

Add-Type -Namespace LoopLaunch -Name Native -MemberDefinition @'
[DllImport("user32.dll", CharSet = CharSet.Unicode)]
public static extern IntPtr FindWindowW(string className, string title);
[DllImport("user32.dll")]
public static extern uint GetWindowThreadProcessId(IntPtr window, out uint process);
'@

$resolved = (Get-Command -Name $Program -CommandType Application, ExternalScript -ErrorAction SilentlyContinue |
    Select-Object -First 1).Source
if (-not $resolved) { throw "cannot find '$Program' in PATH; install it or give its full path" }

# The window first shows a title that nobody else has, tells its process id, and waits until its handle is known:
# the agent overwrites the title as soon as it runs.
$mark = "loop-$([guid]::NewGuid())"
$folder = New-Item -ItemType Directory -Path (Join-Path ([IO.Path]::GetTempPath()) $mark)
try {
    $quote = { param($text) "'" + $text.Replace("'", "''") + "'" }
    $words = @($resolved) + $Arguments | ForEach-Object { & $quote $_ }
    $inner = @"
`$Host.UI.RawUI.WindowTitle = '$mark'
Set-Location -LiteralPath $(& $quote $Repository)
Set-Content -LiteralPath $(& $quote (Join-Path $folder 'pid')) -Value `$PID
while (-not (Test-Path -LiteralPath $(& $quote (Join-Path $folder 'go')))) {
    if (-not (Test-Path -LiteralPath $(& $quote "$folder"))) { exit 1 }
    Start-Sleep -Milliseconds 50
}
& $($words -join ' ')
exit `$LASTEXITCODE
"@
    $encoded = [Convert]::ToBase64String([Text.Encoding]::Unicode.GetBytes($inner))
    Start-Process -FilePath conhost.exe -ArgumentList "powershell.exe -NoProfile -EncodedCommand $encoded"

    $deadline = (Get-Date).AddSeconds(20)
    $window = [IntPtr]::Zero
    $pidFile = Join-Path $folder 'pid'
    while ($window -eq [IntPtr]::Zero -or -not (Test-Path -LiteralPath $pidFile)) {
        if ((Get-Date) -gt $deadline) { throw "the window of $Name did not appear within 20 s" }
        Start-Sleep -Milliseconds 100
        $window = [LoopLaunch.Native]::FindWindowW([NullString]::Value, $mark)
    }
    $shell = Get-Process -Id ([int](Get-Content -LiteralPath $pidFile -TotalCount 1))
    $owner = [uint32]0
    [void][LoopLaunch.Native]::GetWindowThreadProcessId($window, [ref]$owner)

    # Handle, owner of the window, process in it and when that started: a handle given to another window later does
    # not fit the rest any more.
    $address = '{0}:{1}:{2}:{3}' -f $window.ToInt64(), $owner, $shell.Id, $shell.StartTime.ToUniversalTime().Ticks
    Push-Location -LiteralPath $Repository
    try { & $Loop agents register $Name --transport command --address $address }
    finally { Pop-Location }
    if ($LASTEXITCODE -ne 0) {
        Stop-Process -Id $shell.Id
        throw "loop did not register $Name (exit $LASTEXITCODE); the window was closed again"
    }
    New-Item -ItemType File -Path (Join-Path $folder 'go') | Out-Null
    Write-Output "$Name runs in window $($window.ToInt64()) and is registered."
    # The window looks for the file every 50 ms, and ends when the folder goes first.
    Start-Sleep -Seconds 3
}
finally {
    Remove-Item -LiteralPath $folder -Recurse -Force -ErrorAction SilentlyContinue
}
