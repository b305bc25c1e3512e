//! `loop router`.

use crate::failure::{Done, Failure};
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
    /// Log as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
