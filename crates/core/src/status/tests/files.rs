use super::cast;
use crate::status::{StatusError, parse};

fn check(bytes: &[u8], expected: &Result<usize, StatusError>) {
    assert_eq!(parse(bytes, &cast()).map(|status| status.turns.len()), *expected, "{bytes:?}");
}

#[test]
fn what_cannot_be_read() {
    check(b"## CC: a\n\xff", &Err(StatusError::NotUtf8 { byte: 9, line: 2 }));
    check(b"## CC: a\n\0", &Err(StatusError::Nul { line: 2 }));
    check(
        &"## CC: a\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
        &Err(StatusError::Nul { line: 1 }),
    );
    let conflict = "## CC: a\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> other\n";
    check(conflict.as_bytes(), &Err(StatusError::Conflict { line: 2, end: 6 }));
    check(conflict.replace('\n', "\r\n").as_bytes(), &Err(StatusError::Conflict { line: 2, end: 6 }));
    check(b"\xef\xbb\xbf<<<<<<<\n>>>>>>>", &Err(StatusError::Conflict { line: 1, end: 2 }));
    check(b"<!--\n<<<<<<< a\n>>>>>>> b\n-->", &Err(StatusError::Conflict { line: 2, end: 3 }));
    // One side has opened a fence, so the end stands in a code block.
    check(b"<<<<<<< a\n```\nx\n=======\ny\n>>>>>>> b\n", &Err(StatusError::Conflict { line: 1, end: 6 }));
    check(
        b"<<<<<<< a\n```\n=======\n~~~\n>>>>>>> b\nx\n```\n",
        &Err(StatusError::Conflict { line: 1, end: 5 }),
    );
}

#[test]
fn what_only_looks_like_a_conflict() {
    for text in [
        "## CC: a\n```\n<<<<<<< HEAD\n>>>>>>> x\n```\n",
        "## CC: a\n\n    <<<<<<< HEAD\n    >>>>>>> x\n",
        "## CC: a\n<<<<<<< HEAD\n",
        "## CC: a\n>>>>>>> x\n<<<<<<< HEAD\n",
        "## CC: a\n```\n<<<<<<< HEAD\n```\n>>>>>>> x\n",
        "## CC: a\n<<<<<<<< HEAD\n>>>>>>> x\n",
        "## CC: a\n `<<<<<<<` and\n `>>>>>>>`\n",
        "## CC: a\n<<<<<<<HEAD\n>>>>>>>x\n",
    ] {
        check(text.as_bytes(), &Ok(1));
    }
}
