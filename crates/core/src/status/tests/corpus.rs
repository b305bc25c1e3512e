//! Replays the fuzzing corpus, so that what once failed is tried on every run, without nightly.

use std::fs;
use std::path::Path;

use super::laws::{check_append, check_places};

#[test]
fn the_corpus_still_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut count = 0;
    for target in ["status_parse", "append_then_parse"] {
        for entry in fs::read_dir(corpus.join(target)).unwrap() {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            count += 1;
            let _ = super::parse(&bytes, &super::cast());
            if let Ok(text) = std::str::from_utf8(&bytes) {
                check_places(text);
                check_append(text, None);
            }
        }
    }
    assert!(count > 10, "the corpus lies in {}", corpus.display());
}
