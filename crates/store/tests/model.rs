//! Whatever relay, courier, persons and crashes do, in any order, the ledger's laws hold.

use std::collections::{BTreeMap, BTreeSet};

use loop_core::{Delivery, DeliveryState};
use loop_store::{Outcome, Store};
use proptest::prelude::*;

use crate::support::{Folder, LEASE, at, name, outcome};

const AGENTS: [&str; 3] = ["CC", "Codex", "Gemini"];
const AUTHORS: [&str; 4] = ["CC", "Codex", "Gemini", "Dana"];
const OWNERS: [&str; 2] = ["one", "two"];

#[derive(Debug, Clone)]
enum Step {
    /// A section by this author is added.
    Write(usize),
    /// The relay records that this agent, or nobody, is to be woken.
    Record(Option<usize>),
    /// The relay records the last outcome again.
    RecordAgain,
    Claim(usize),
    /// One of the deliveries is moved to this state, if it may.
    Advance(usize, DeliveryState),
    Postpone(usize, bool),
    NextAttempt(usize),
    ResumeDead,
    Pause,
    /// One of the owners dies, and another takes stock.
    Recover(usize),
    /// The process ends without a word and starts again.
    Reopen,
    /// This many seconds go by.
    Pass(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let state = proptest::sample::select(DeliveryState::ALL.to_vec());
    prop_oneof![
        3 => (0..AUTHORS.len()).prop_map(Step::Write),
        6 => proptest::option::weighted(0.85, 0..AGENTS.len()).prop_map(Step::Record),
        2 => Just(Step::RecordAgain),
        6 => (0..OWNERS.len()).prop_map(Step::Claim),
        12 => (any::<prop::sample::Index>(), state).prop_map(|(index, state)| Step::Advance(index.index(64), state)),
        3 => (0..64_usize, any::<bool>()).prop_map(|(index, failed)| Step::Postpone(index, failed)),
        2 => (0..64_usize).prop_map(Step::NextAttempt),
        1 => Just(Step::ResumeDead),
        1 => Just(Step::Pause),
        1 => (0..OWNERS.len()).prop_map(Step::Recover),
        1 => Just(Step::Reopen),
        2 => (1..90_i64).prop_map(Step::Pass),
    ]
}

/// What the test itself remembers.
struct World {
    folder: Folder,
    store: Store,
    now: i64,
    authors: Vec<&'static str>,
    last: Option<Outcome>,
    /// Who holds which delivery, and until when.
    held: BTreeMap<String, (usize, i64)>,
}

impl World {
    async fn new() -> Self {
        let folder = Folder::new();
        let store = folder.open_with_loop().await;
        Self { folder, store, now: 0, authors: Vec::new(), last: None, held: BTreeMap::new() }
    }

    /// Every delivery, oldest first.
    async fn all(&self) -> Vec<Delivery> {
        let mut deliveries = self.store.deliveries("L", 1000).await.unwrap();
        deliveries.reverse();
        deliveries
    }

    async fn pick(&self, index: usize) -> Option<Delivery> {
        let all = self.all().await;
        // Mostly the newest ones: that is where something happens.
        let newest = all.len().saturating_sub(4);
        all[newest..].get(index % 4.min(all.len().max(1))).cloned()
    }

    async fn record(&mut self, wanted: Outcome) {
        let before = self.all().await;
        let recorded = self.store.record("L", &wanted).await.unwrap();
        let after = self.all().await;
        assert_eq!(after.len(), before.len() + usize::from(recorded.new));
        assert_eq!(recorded.delivery.is_some(), wanted.wake.is_some());
        for delivery in &after {
            let is_decided =
                wanted.wake.as_ref() == Some(&delivery.agent) && wanted.cause_turn == delivery.turn;
            assert!(is_decided || !delivery.state.is_untyped(), "left untyped: {delivery:?}");
            let answers =
                wanted.turns.iter().any(|turn| turn.n > delivery.turn && turn.author == delivery.agent);
            assert!(!answers || delivery.state.is_final(), "not answered: {delivery:?}");
        }
        if let Some(delivery) = &recorded.delivery {
            assert!(delivery.state != DeliveryState::Superseded, "{delivery:?}");
        }
        let again = self.store.record("L", &wanted).await.unwrap();
        assert!(!again.new && !again.changed && again.superseded.is_empty() && again.answered.is_empty());
        assert_eq!(again.delivery, recorded.delivery);
        assert_eq!(self.all().await, after);
        self.last = Some(wanted);
    }

    async fn claim(&mut self, owner: usize) {
        let before = self.all().await;
        let claimed = self.store.claim(OWNERS[owner], LEASE, at(self.now)).await.unwrap();
        let mut agents = BTreeSet::new();
        for delivery in &claimed {
            assert!(before.contains(delivery), "a claim changes nothing that is seen");
            assert!(delivery.state.is_untyped() && delivery.not_before <= at(self.now));
            assert!(agents.insert(delivery.agent.key().to_owned()), "two at once for {}", delivery.agent);
            let out = before.iter().find(|other| other.agent == delivery.agent && other.state.is_out());
            assert_eq!(out, None, "claimed beside one that is out");
            let held = self.held.get(&delivery.id).filter(|(_, until)| *until > self.now);
            assert_eq!(held, None, "claimed from under somebody");
            self.held.insert(delivery.id.clone(), (owner, self.now + 60));
        }
        let again = self.store.claim(OWNERS[1 - owner], LEASE, at(self.now)).await.unwrap();
        assert_eq!(again, [], "claimed twice");
    }

    async fn advance(&mut self, index: usize, to: DeliveryState) {
        let Some(delivery) = self.pick(index).await else { return };
        if !delivery.state.may_become(to) {
            assert!(self.store.advance(&delivery.id, delivery.state, to, None, at(self.now)).await.is_err());
            return;
        }
        let others_out =
            self.all().await.iter().any(|other| {
                other.id != delivery.id && other.agent == delivery.agent && other.state.is_out()
            });
        let moved = self.store.advance(&delivery.id, delivery.state, to, None, at(self.now)).await.unwrap();
        assert_eq!(moved, delivery.state.is_out() || !to.is_out() || !others_out);
        if moved {
            self.held.remove(&delivery.id);
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Write(author) => self.authors.push(AUTHORS[author]),
            Step::Record(wake) => {
                let wanted = outcome(&self.authors, wake.map(|agent| AGENTS[agent]), self.now);
                self.record(wanted).await;
            }
            Step::RecordAgain => {
                if let Some(last) = self.last.clone() {
                    self.record(Outcome { now: at(self.now), ..last }).await;
                }
            }
            Step::Claim(owner) => self.claim(owner).await,
            Step::Advance(index, to) => self.advance(index, to).await,
            Step::Postpone(index, failed) => {
                let Some(delivery) = self.pick(index).await else { return };
                let to = DeliveryState::Waiting;
                let later = at(self.now + 5);
                let done = self.store.postpone(&delivery.id, to, "busy", later, failed, at(self.now)).await;
                if delivery.state.is_final() {
                    assert_eq!(done.unwrap(), delivery);
                } else if delivery.state.may_become(to) {
                    let after = done.unwrap();
                    assert_eq!((after.state, after.not_before), (to, later));
                    assert_eq!(after.tries, delivery.tries + u32::from(failed));
                    self.held.remove(&delivery.id);
                } else {
                    assert!(done.is_err());
                }
            }
            Step::NextAttempt(index) => {
                let Some(delivery) = self.pick(index).await else { return };
                let next = self.store.next_attempt(&delivery.id, "again", at(self.now)).await.unwrap();
                assert!(next.is_none() || delivery.state.is_final());
                assert_eq!(self.store.next_attempt(&delivery.id, "again", at(self.now)).await.unwrap(), None);
            }
            Step::ResumeDead => {
                self.store.resume_dead("L", self.authors.len(), at(self.now)).await.unwrap();
            }
            Step::Pause => {
                self.store.supersede_untyped("L", "paused", at(self.now)).await.unwrap();
                assert!(self.all().await.iter().all(|delivery| !delivery.state.is_untyped()));
            }
            Step::Recover(dead) => {
                let alive = |owner: &str| owner != OWNERS[dead];
                self.store.recover(&alive, at(self.now)).await.unwrap();
                self.held.retain(|_, (owner, _)| *owner != dead);
            }
            Step::Reopen => {
                self.store.close().await;
                self.store = self.folder.open().await;
            }
            Step::Pass(seconds) => self.now += seconds,
        }
    }

    async fn check(&self) {
        let all = self.all().await;
        let mut out = BTreeSet::new();
        let mut attempts: BTreeMap<(usize, String), u32> = BTreeMap::new();
        for delivery in &all {
            let agent = delivery.agent.key().to_owned();
            if delivery.state.is_out() {
                assert!(out.insert(agent.clone()), "two out for {agent}");
            }
            let attempt = attempts.entry((delivery.turn, agent)).or_default();
            *attempt += 1;
            assert_eq!(delivery.attempt, *attempt, "attempts count up without a gap");
        }

        let mut last: BTreeMap<String, DeliveryState> = BTreeMap::new();
        for line in self.store.ledger("L").await.unwrap() {
            match last.insert(line.delivery_id, line.state) {
                None => assert_eq!(line.state, DeliveryState::Queued, "the first line"),
                Some(before) => {
                    assert!(before.may_become(line.state), "{before:?} -> {:?} in the ledger", line.state);
                }
            }
        }
        let states: BTreeMap<String, DeliveryState> =
            all.iter().map(|delivery| (delivery.id.clone(), delivery.state)).collect();
        assert_eq!(last, states, "the ledger's last line is the state");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_of_the_ledger_hold(steps in proptest::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await;
            assert_eq!(name("CC").as_str(), AGENTS[0]);
            for step in steps {
                world.take(step).await;
                world.check().await;
            }
            world.store.close().await;
        });
    }
}
