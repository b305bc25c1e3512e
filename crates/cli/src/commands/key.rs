//! `loop key`.

use std::io::IsTerminal;

use crate::client::RouterLine;
use crate::commands::DONE;
use crate::failure::{Done, Failure};
use crate::output;
use crate::world::World;

/// Print the name of a file for curl -K that carries the key
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the command.
pub(crate) async fn run(world: &World, _args: Args) -> Done {
    let key = world.key()?;
    let file = world.state_dir.join("curl.conf");
    write_private(&file, &format!("header = \"Authorization: Bearer {}\"\n", key.expose())).map_err(
        |error| Failure::ours(anyhow::Error::new(error).context(format!("cannot write {}", file.display()))),
    )?;
    output::line(file.display().to_string());
    if std::io::stdout().is_terminal() {
        let addr = match RouterLine::find(world).await? {
            Some(router) => router.addr().to_string(),
            None => "127.0.0.1:5679".to_owned(),
        };
        output::note(format!("the key is {key}; it stands in that file for you alone. For example:"));
        output::note(format!(
            "  curl -K {} http://{addr}/webhook/agent-loop --json '{{\"author\":\"CC\",\"message\":\"what I did\"}}'",
            file.display()
        ));
    }
    Ok(DONE)
}

fn write_private(file: &std::path::Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let mut out =
        std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(file)?;
    out.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    out.write_all(text.as_bytes())
}
