//! Opening: what is made, what is refused, and that nothing refused is touched.

use crate::support::Folder;

#[tokio::test]
async fn a_new_store_is_whole_and_empty() {
    let folder = Folder::new();
    let store = folder.open().await;
    let report = store.check().await.unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!((report.schema, report.loops), (1, 0));
}
