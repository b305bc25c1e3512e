//! Several handles, and several processes, on one store.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use loop_core::DeliveryState::*;
use loop_store::{LoopPatch, Store};

use crate::support::{Folder, LEASE, at, new_loop, outcome};

/// Where a child finds the store, and who it is.
const URL: &str = "LOOP_STORE_TEST_URL";
const WHO: &str = "LOOP_STORE_TEST_WHO";
const LOOPS: usize = 25;

fn loop_id(number: usize) -> String {
    format!("L{number}")
}

/// What a relay and a courier do, in a hurry, each loop with the same outcome as everybody else's. Returns the
/// deliveries that this one typed.
async fn work(store: &Store, owner: &str) -> Vec<String> {
    let mut typed = Vec::new();
    for number in 0..LOOPS {
        store.record(&loop_id(number), &outcome(&["CC"], Some("Codex"), 1)).await.unwrap();
        for delivery in store.claim(owner, LEASE, at(2)).await.unwrap() {
            assert!(store.advance(&delivery.id, delivery.state, Typing, None, at(3)).await.unwrap());
            assert!(store.advance(&delivery.id, Typing, Submitted, None, at(4)).await.unwrap());
            store.add_work(&delivery.id, 1).await.unwrap();
            typed.push(delivery.id);
        }
    }
    typed
}

async fn prepare(folder: &Folder) -> Store {
    let store = folder.open().await;
    for number in 0..LOOPS {
        store.add_loop(&new_loop(&loop_id(number))).await.unwrap();
        let up = LoopPatch { up: Some(true), ..LoopPatch::default() };
        store.update_loop(&loop_id(number), up).await.unwrap();
    }
    store
}

/// Each loop has one delivery, typed by exactly one worker.
async fn agree(store: &Store, typed: Vec<String>) {
    let distinct: BTreeSet<&String> = typed.iter().collect();
    assert_eq!((typed.len(), distinct.len()), (LOOPS, LOOPS));
    for number in 0..LOOPS {
        let deliveries = store.deliveries(&loop_id(number), 10).await.unwrap();
        assert_eq!(deliveries.len(), 1);
        assert_eq!((deliveries[0].state, deliveries[0].attempt), (Submitted, 1));
        assert_eq!(store.ledger(&loop_id(number)).await.unwrap().len(), 3);
        assert_eq!(store.loop_row(&loop_id(number)).await.unwrap().unwrap().worked_ms, 1);
    }
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_handles_wake_each_agent_once() {
    let folder = Folder::new();
    let store = prepare(&folder).await;
    let tasks: Vec<_> = (0..4)
        .map(|number| {
            let url = folder.url();
            tokio::spawn(async move {
                let store = Store::open(&url).await.unwrap();
                work(&store, &format!("task {number}")).await
            })
        })
        .collect();
    let mut typed = Vec::new();
    for task in tasks {
        typed.extend(task.await.unwrap());
    }
    agree(&store, typed).await;
}

#[tokio::test]
async fn several_processes_wake_each_agent_once() {
    // Each of the processes runs this very test, and finds here that it is one of them.
    if let (Ok(url), Ok(who)) = (std::env::var(URL), std::env::var(WHO)) {
        return child(&url, &who).await;
    }
    let folder = Folder::new();
    let store = prepare(&folder).await;
    let children: Vec<_> = (0..3)
        .map(|number| {
            Command::new(std::env::current_exe().unwrap())
                .args(["processes::several_processes_wake_each_agent_once", "--exact", "--nocapture"])
                .env(URL, folder.url())
                .env(WHO, format!("process {number}"))
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut typed = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let said = String::from_utf8(output.stdout).unwrap();
        typed.extend(said.lines().filter_map(|line| line.strip_prefix("typed ")).map(str::to_owned));
    }
    agree(&store, typed).await;
}

/// What each of the processes does.
async fn child(url: &str, who: &str) {
    let store = Store::open(url).await.unwrap();
    let typed = work(&store, who).await;
    let lines: String = typed.iter().map(|id| format!("\ntyped {id}")).collect();
    println!("{lines}");
    store.close().await;
}

#[tokio::test]
async fn a_change_that_is_dropped_half_way_changes_nothing() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    // Every await of a change is a point where its task can be cut off.
    for polls in 0..60 {
        let wanted = outcome(&["CC"], Some("Codex"), 1);
        let change = store.record("L", &wanted);
        let done = poll_at_most(change, polls).await;
        let turns = store.turns("L").await.unwrap().len();
        let deliveries = store.deliveries("L", 10).await.unwrap().len();
        assert_eq!(turns, deliveries, "all or nothing, after {polls} polls");
        if done {
            assert_eq!(turns, 1);
            return;
        }
    }
    // Which poll finishes depends on the machine; finishing afterwards must work in any case.
    store.record("L", &outcome(&["CC"], Some("Codex"), 1)).await.unwrap();
    assert_eq!(store.deliveries("L", 10).await.unwrap().len(), 1);
}

/// Polls a future up to `polls` times and then drops it; returns whether it was done.
async fn poll_at_most(future: impl Future, polls: usize) -> bool {
    let mut future = Box::pin(future);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return std::task::Poll::Ready(false);
        }
        left -= 1;
        future.as_mut().poll(context).map(|_| true)
    })
    .await
}
