//! `loop router`.

use std::process::ExitCode;

use loop_router::{Router, StartError};
use tracing_subscriber::EnvFilter;

use crate::client::RouterLine;
use crate::commands::DONE;
use crate::daemon::stop_router;
use crate::failure::{Done, Failure, NOTHING};
use crate::output;
use crate::world::World;

/// Run the router in the foreground
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen on this port
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Listen on this address
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<std::net::IpAddr>,
    /// Allow an address that other machines can reach
    #[arg(long)]
    pub(crate) anywhere: bool,
    /// Stop the running router
    #[arg(long)]
    pub(crate) stop: bool,
    /// Started by `loop up`: goes on when its terminal is closed
    #[arg(long, hide = true)]
    pub(crate) background: bool,
    /// Log as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    if args.stop {
        return stop(world).await;
    }
    let mut options = world.router_options()?;
    options.anywhere = args.anywhere;
    if let Some(port) = args.port {
        options.listen.set_port(port);
        options.port_may_move = false;
    }
    if let Some(ip) = args.listen {
        options.listen.set_ip(ip);
    }
    log_to_stderr(world, args.json);
    let router = Router::start(options).await.map_err(|error| match error {
        StartError::Store(error) => Failure::from(error),
        StartError::State { .. } => Failure::ours(error),
        error => Failure::users(error),
    })?;
    output::note(format!("loop router: listening on http://{} (pid {})", router.addr(), std::process::id()));
    router.run(asked_to_stop(args.background)).await;
    Ok(DONE)
}

/// Ends with the first Ctrl-C or SIGTERM, and, in the foreground, when the terminal is closed.
async fn asked_to_stop(background: bool) {
    use tokio::signal::unix::SignalKind;
    tokio::select! {
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::terminate()) => {}
        () = hangup(background) => {}
    }
}

async fn wait(kind: tokio::signal::unix::SignalKind) {
    match tokio::signal::unix::signal(kind) {
        Ok(mut signals) => drop(signals.recv().await),
        Err(_) => std::future::pending().await,
    }
}

/// In the background the signal is taken and means nothing.
async fn hangup(background: bool) {
    loop {
        wait(tokio::signal::unix::SignalKind::hangup()).await;
        if !background {
            return;
        }
    }
}

async fn stop(world: &World) -> Done {
    let Some(router) = RouterLine::find(world).await? else {
        output::line("no router runs.");
        return Ok(ExitCode::from(NOTHING));
    };
    stop_router(world, &router).await?;
    output::line(format!("the router (pid {}) has stopped.", router.file.pid));
    Ok(DONE)
}

fn log_to_stderr(world: &World, json: bool) {
    let filter = world.env.get("LOOP_LOG").map_or("info", String::as_str);
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let layer = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second logger in one process is no error of the user's.
    let _ = if json { layer.json().try_init() } else { layer.with_ansi(world.color_on_stderr).try_init() };
}
