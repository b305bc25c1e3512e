<#
.SYNOPSIS
  Pastes one line into an agent's window and presses Enter.
.DESCRIPTION
  Called by loop's transport 'command'. Exit 0: submitted. Exit 75: not now, try again later. Exit 76: pasted, and nobody
  knows whether it was submitted. Exit 1: it cannot reach the window. The last line says why.
.EXAMPLE
  .\simple-inject.ps1 '2819790:4711:4242:638000000000000000' '/agent-loop CC'
#>
param(
    [Parameter(Position = 0)] [string] $Address = $env:LOOP_ADDRESS,
    [Parameter(Position = 1)] [string] $Text = $env:LOOP_TEXT
)
$ErrorActionPreference = 'Stop'

function Stop-Failed([string] $why) { Write-Output $why; exit 1 }
function Stop-NotNow([string] $why) { Write-Output $why; exit 75 }
$pasted = $false
trap { Write-Output "$_"; if ($pasted) { exit 76 } else { exit 1 } }

Add-Type -AssemblyName System.Windows.Forms
Add-Type -Namespace LoopInject -Name Native -MemberDefinition @'
[StructLayout(LayoutKind.Sequential)]
public struct LastInput { public uint Size; public uint Time; }
[DllImport("user32.dll")] public static extern bool IsWindow(IntPtr window);
[DllImport("user32.dll")] public static extern bool IsIconic(IntPtr window);
[DllImport("user32.dll")] public static extern bool ShowWindow(IntPtr window, int how);
[DllImport("user32.dll")] public static extern bool SetForegroundWindow(IntPtr window);
[DllImport("user32.dll")] public static extern IntPtr GetForegroundWindow();
[DllImport("user32.dll")] public static extern uint GetWindowThreadProcessId(IntPtr window, out uint process);
[DllImport("user32.dll")] public static extern short GetAsyncKeyState(int key);
[DllImport("user32.dll")] public static extern bool GetLastInputInfo(ref LastInput input);
'@

# What was given.
if ([string]::IsNullOrWhiteSpace($Text) -or $Text -match '[\x00-\x1f\x7f]') {
    Stop-Failed 'the text is not one plain line'
}
if ($Address -notmatch '^(\d+):(\d+):(\d+):(\d+)$') {
    Stop-Failed "'$Address' is no address of launch-terminal.ps1; run that script again"
}
$window = [IntPtr][int64]$Matches[1]
$owner, $processId, $started = [uint32]$Matches[2], [int]$Matches[3], [int64]$Matches[4]

# Is it still the agent's window?
$gone = 'the window is gone; run launch-terminal.ps1 again'
if (-not [LoopInject.Native]::IsWindow($window)) { Stop-Failed $gone }
$ownerNow = [uint32]0
[void][LoopInject.Native]::GetWindowThreadProcessId($window, [ref]$ownerNow)
$process = Get-Process -Id $processId -ErrorAction SilentlyContinue
if ($ownerNow -ne $owner -or -not $process -or $process.StartTime.ToUniversalTime().Ticks -ne $started) {
    Stop-Failed $gone
}
# The agent is a child of the window's own shell; without one the shell is about to end, and must get no text.
$children = @(Get-CimInstance -ClassName Win32_Process -Filter "ParentProcessId = $processId" |
    Where-Object { $_.Name -ne 'conhost.exe' })
if ($children.Count -eq 0) { Stop-Failed "no agent runs in the window any more; run launch-terminal.ps1 again" }

# Is anybody using the machine?
$lastInput = New-Object LoopInject.Native+LastInput
$lastInput.Size = [Runtime.InteropServices.Marshal]::SizeOf($lastInput)
if ([LoopInject.Native]::GetLastInputInfo([ref]$lastInput)) {
    # The tick counter wraps round after 49 days; so does this difference.
    $now = [int64]([Environment]::TickCount) -band 0xffffffffL
    $idle = ($now - [int64]$lastInput.Time) -band 0xffffffffL
    if ($idle -lt 3000) { Stop-NotNow 'somebody is using keyboard or mouse' }
}
foreach ($key in 0x10, 0x11, 0x12, 0x5b, 0x5c) {
    if ([LoopInject.Native]::GetAsyncKeyState($key) -band 0x8000) { Stop-NotNow 'a Shift, Ctrl, Alt or Windows key is held' }
}

# One sender at a time, and only a clipboard that can be given back.
$mutex = New-Object Threading.Mutex($false, 'Local\loop-simple-inject')
try { $mine = $mutex.WaitOne(5000) } catch [Threading.AbandonedMutexException] { $mine = $true }
if (-not $mine) { Stop-NotNow 'another wake is being typed' }
$before = [LoopInject.Native]::GetForegroundWindow()
$kept = $null
$borrowed = $false
try {
    $clipboard = [Windows.Forms.Clipboard]::GetDataObject()
    if ($clipboard -and $clipboard.GetFormats().Count -gt 0) {
        if (-not [Windows.Forms.Clipboard]::ContainsText()) { Stop-NotNow 'the clipboard holds something that is no text' }
        $kept = [Windows.Forms.Clipboard]::GetText()
    }

    # To the front, and really there.
    if ([LoopInject.Native]::IsIconic($window)) { [void][LoopInject.Native]::ShowWindow($window, 9) }
    [void][LoopInject.Native]::SetForegroundWindow($window)
    $deadline = (Get-Date).AddSeconds(2)
    while ([LoopInject.Native]::GetForegroundWindow() -ne $window) {
        if ((Get-Date) -gt $deadline) { Stop-NotNow 'the window does not come to the front' }
        Start-Sleep -Milliseconds 50
    }

    [Windows.Forms.Clipboard]::SetText($Text)
    $borrowed = $true
    if ([Windows.Forms.Clipboard]::GetText() -cne $Text) { Stop-NotNow 'another program changed the clipboard' }
    $pasted = $true
    [Windows.Forms.SendKeys]::SendWait('^v')
    # Terminals take an Enter that follows too closely for a part of the paste.
    Start-Sleep -Milliseconds 400
    if ([LoopInject.Native]::GetForegroundWindow() -ne $window) {
        Write-Output 'another window came to the front before Enter; the text stands in the agent''s window, unsubmitted'
        exit 76
    }
    [Windows.Forms.SendKeys]::SendWait('{ENTER}')
    Start-Sleep -Milliseconds 100
    Write-Output 'pasted and submitted'
}
finally {
    if ($borrowed) {
        if ($null -ne $kept -and $kept -ne '') { [Windows.Forms.Clipboard]::SetText($kept) }
        else { [Windows.Forms.Clipboard]::Clear() }
    }
    if ($before -ne [IntPtr]::Zero -and $before -ne $window) {
        [void][LoopInject.Native]::SetForegroundWindow($before)
    }
    $mutex.ReleaseMutex()
}
exit 0
