//! Recording what the relay decided.

use crate::support::{Folder, outcome};

#[tokio::test]
async fn recording_twice_queues_once() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let first = store.record("L", &outcome(&["CC"], Some("Codex"), 1)).await.unwrap();
    let again = store.record("L", &outcome(&["CC"], Some("Codex"), 2)).await.unwrap();
    assert!(first.new && first.changed);
    assert!(!again.new && !again.changed);
    assert_eq!(first.delivery, again.delivery);
    assert_eq!(store.ledger("L").await.unwrap().len(), 1);
    assert_eq!(store.turns("L").await.unwrap().len(), 1);
}
