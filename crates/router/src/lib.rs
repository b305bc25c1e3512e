//! The router: one per user, for all of their repositories.
//!
//! The way of one commit, four nouns, each made once and never handed back: **Notice → Decision → Delivery →
//! Receipt**. The `http` service, the watch on references and the sweep make a [`relay::Notice`]; the
//! [`relay`] (the page to read first) reads the branch, turns it into a decision and, in one transaction, a
//! delivery; the `courier` claims the delivery, waits until the agent may be spoken to, calls the transport and
//! records the receipt. `attend` looks after agents that have been woken.
//!
//! Only the relay decides turns. Only the courier wakes. What git and the store say is the truth: a router that
//! is killed at any line goes on from there when it is started again.
//!
//! [`Router::start`] runs it inside any tokio program; [`reading`] and [`steer`] serve those who look at or steer a
//! loop without one.

mod attend;
mod courier;
mod desk;
mod facts;
mod http;
pub mod key;
mod limits;
mod metrics;
mod narrate;
mod options;
mod patience;
pub mod reading;
mod reasons;
pub mod relay;
mod rendezvous;
mod seats;
mod session;
mod settled;
pub mod steer;
pub mod tell;
pub mod tls;
mod unread;
mod verify;
mod watch;
pub mod witness;

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use loop_store::{Store, StoreError};
use loop_transport::{Transport, kinds};
use tokio::sync::{Notify, Semaphore, broadcast, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use desk::{Desk, News};
pub use key::Key;
pub use options::Options;
pub use reasons::{for_a_person, needs_a_person};
pub use session::{agent_environment, transport_session};
pub use unread::folder_is_gone;

/// Why a router does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another router of this user runs.
    #[error("a router runs already (pid {pid}, {addr}); `loop router --stop` stops it")]
    Running {
        /// Its process.
        pid: u32,
        /// Its address.
        addr: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error(
        "cannot listen on {addr}; another program has it: choose another port with --port, or leave it out"
    )]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The address is none of this machine's own.
    #[error("{0} can be reached from other machines; say --anywhere if you mean it")]
    NotLoopback(SocketAddr),
    /// The state folder cannot be used.
    #[error("cannot use {path}")]
    State {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A running router. [`Router::stop`] ends it; dropping it cuts everything off where it stands, as a crash would.
pub struct Router {
    desk: Arc<Desk>,
    addr: SocketAddr,
    tasks: JoinSet<()>,
    _claim: rendezvous::Claim,
}

impl Router {
    /// Starts a router: takes its place in the state folder, recovers what a crash left, listens and works.
    ///
    /// # Errors
    /// Fails when another router of this state folder runs, the address cannot be had, or the store cannot be
    /// opened. Nothing is left behind then.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        if !options.listen.ip().is_loopback() && !options.anywhere {
            return Err(StartError::NotLoopback(options.listen));
        }
        let claim = rendezvous::Claim::take(&options.state_dir)?;
        let store = Store::open(&options.store_url).await?;
        let listeners = rendezvous::listen(&options).await?;
        let addr = listeners.first;
        let mut transport_options = kinds::Options::new(options.state_dir.join("locks"));
        transport_options.tmux = options.tmux.clone();
        transport_options.teller = tell::teller(&options.tell, &store);
        let wait_room = transport_options.wait_room.clone();
        let mut transports: HashMap<String, Arc<dyn Transport>> =
            kinds::TABLE.iter().map(|row| (row.name.to_owned(), (row.open)(&transport_options))).collect();
        transports.extend(options.transports.iter().cloned());
        let (notices, notice_queue) = mpsc::unbounded_channel();
        let (verify_jobs, verify_queue) = mpsc::unbounded_channel();
        let (news, _) = broadcast::channel(256);
        let owner = format!("{}-{}", std::process::id(), uuid::Uuid::now_v7());
        let desk = Arc::new_cyclic(|me| Desk {
            options,
            store,
            seats: seats::Seats::default(),
            transports,
            wait_room,
            counters: metrics::Counters::default(),
            rung: desk::Rung::default(),
            patience: patience::Patience::default(),
            ended: Mutex::default(),
            watchers: witness::Watchers::default(),
            complaints: Mutex::default(),
            expected: Mutex::default(),
            sending: Mutex::default(),
            verify_jobs,
            telling: tokio::sync::Mutex::default(),
            errands: TaskTracker::new(),
            bell: Notify::new(),
            notices,
            news,
            loops_changed: Notify::new(),
            stop: CancellationToken::new(),
            place: claim.place(),
            me: me.clone(),
            owner,
        });
        // This is the only router on this store (see the claim): whatever is leased or half typed is a crash's.
        for delivery in desk.store.recover(&|_| false, Timestamp::now()).await? {
            tracing::warn!(delivery = delivery.id, agent = %delivery.agent, "a wake was cut off; looking first");
        }
        claim.announce(addr, &desk.options)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(relay_notices(Arc::clone(&desk), notice_queue));
        tasks.spawn(Arc::clone(&desk).courier());
        tasks.spawn(Arc::clone(&desk).attend());
        tasks.spawn(Arc::clone(&desk).watch());
        tasks.spawn(Arc::clone(&desk).verifier(verify_queue));
        let places = Arc::new(Semaphore::new(http::CONNECTIONS));
        for listener in listeners.all {
            let service = http::service(Arc::clone(&desk));
            let header_limit = desk.options.header_limit;
            tasks.spawn(http::serve(listener, service, header_limit, Arc::clone(&places), desk.stop.clone()));
        }
        for row in desk.store.loops(false).await? {
            // What was decided before is no news to whoever rings next.
            if let Some(decision) = &row.decision_key {
                desk.rung.is_new(&row.id, decision);
            }
            desk.ring(&row.id, "start");
        }
        tracing::info!(%addr, "the router listens");
        Ok(Self { desk, addr, tasks, _claim: claim })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What it works with, for programs that embed it.
    pub fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    /// Listens to what happens from now on.
    pub fn news(&self) -> broadcast::Receiver<News> {
        self.desk.news.subscribe()
    }

    /// Runs until it is told to stop (`POST /api/router/stop`, or `until` is done), then ends as [`Router::stop`].
    pub async fn run(self, until: impl Future<Output = ()>) {
        let stop = self.desk.stop.clone();
        tokio::select! {
            () = until => {}
            () = stop.cancelled() => {}
        }
        self.stop().await;
    }

    /// Stops: no new deliveries, requests under way are answered, `router.json` is removed. A send under way is
    /// finished, at most ten seconds.
    pub async fn stop(mut self) {
        self.desk.stop.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(10), async {
            while self.tasks.join_next().await.is_some() {}
        });
        if ended.await.is_err() {
            tracing::warn!("some tasks did not end in time and are cut off");
        }
        self.tasks.abort_all();
        self.desk.errands.close();
        if tokio::time::timeout(Duration::from_secs(5), self.desk.errands.wait()).await.is_err() {
            tracing::warn!("somebody could not be told before the router stopped");
        }
        self.desk.store.close().await;
    }
}

impl Desk {
    /// The store, for programs that embed a router.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Asks for a look at a loop.
    pub fn look_at(&self, loop_id: &str) {
        self.ring(loop_id, "person");
    }

    /// Tells the watch that a loop was added or ended behind its back.
    pub fn loops_changed(&self) {
        self.loops_changed.notify_one();
    }
}

/// Follows notices one after the other; those that came meanwhile for the same loop are one.
async fn relay_notices(desk: Arc<Desk>, mut queue: mpsc::UnboundedReceiver<relay::Notice>) {
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            () = desk.stop.cancelled() => return,
            taken = queue.recv_many(&mut batch, 1024) => if taken == 0 { return },
        }
        let mut seen = HashSet::new();
        batch.retain(|notice| seen.insert(notice.loop_id.clone()));
        // Side by side, so that one slow repository does not hold up the others.
        stream::iter(batch.drain(..)).for_each_concurrent(AT_ONCE, |notice| follow(&desk, notice)).await;
    }
}

/// How many loops are read at once.
const AT_ONCE: usize = 4;

async fn follow(desk: &Desk, notice: relay::Notice) {
    let complaint = desk.relay(&notice).await.err().map(|error| error.to_string());
    let mut complaints = desk.complaints.lock().unwrap_or_else(PoisonError::into_inner);
    match complaint {
        None => drop(complaints.remove(&notice.loop_id)),
        // Once, not with every sweep.
        Some(error) if complaints.get(&notice.loop_id) != Some(&error) => {
            tracing::warn!(loop_id = notice.loop_id, from = notice.from, error, "the loop cannot be read");
            complaints.insert(notice.loop_id, error);
        }
        Some(_) => {}
    }
}
