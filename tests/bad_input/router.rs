//! A router that cannot start, or is not the first.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use super::bench::{Bench, CAST, normal};

#[test]
fn a_busy_port_that_was_asked_for_is_said() {
    let bench = Bench::new();
    let repo = bench.sandbox.repo("shop");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = bench.refuses(
        &repo,
        &["router", "--port", &port],
        1,
        &["cannot listen on 127.0.0.1:", "choose another"],
    );
    assert!(bench.router().is_none());
    insta::assert_snapshot!(normal(&bench, &said).replace(&port, "[PORT]"), @r"
    error: cannot listen on 127.0.0.1:[PORT]; another program has it: choose another port with --port, or leave it out
      because: Address already in use (os error 98)
    ");
    bench.refuses(
        &repo,
        &["router", "--listen", "0.0.0.0"],
        1,
        &["can be reached from other machines", "--anywhere"],
    );
    bench.refuses(&repo, &["router", "--listen", "nowhere"], 2, &["nowhere"]);
}

#[test]
fn the_usual_port_when_busy_is_another_one() {
    let bench = Bench::new();
    bench.sandbox.write("home/.config/agent-loop/config.yaml", "");
    // Whether or not something else has it: ours is there, too.
    let _taken = TcpListener::bind("127.0.0.1:5679");
    let repo = bench.up("shop", CAST);
    let router = bench.router().expect("a router");
    assert_ne!(router["addr"], "127.0.0.1:5679", "{router}");
    assert_eq!(bench.status(&repo)["router"], router["addr"]);
}

#[test]
fn a_second_router_names_the_first() {
    let bench = Bench::new();
    let repo = bench.up("shop", CAST);
    let first = bench.router().expect("a router");
    let said = bench.refuses(&repo, &["router"], 1, &["a router runs already", "loop router --stop"]);
    assert!(said.err.contains(&first["pid"].to_string()), "{said:?}");
    assert_eq!(bench.router(), Some(first.clone()));
    // `loop up` uses the one that runs.
    bench.run(repo.path(), &["up"]).check(0, &[first["addr"].as_str().unwrap()]);
    assert_eq!(bench.router(), Some(first));
}

#[test]
fn a_key_that_others_can_read() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    bench.run(repo.path(), &["key"]).check(0, &[]);
    let key = bench.state().join("key");
    let text = fs::read_to_string(&key).unwrap();
    for mode in [0o644, 0o640, 0o606] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        for arguments in [&["key"][..], &["router"], &["up", "--yes"]] {
            let said = bench.refuses(&repo, arguments, 1, &["can be read by others", "chmod 600"]);
            assert!(!said.text().contains(text.trim()), "the key is shown");
        }
    }
    assert_eq!(fs::read_to_string(&key).unwrap(), text);
    let said = bench.run(repo.path(), &["key"]);
    insta::assert_snapshot!(normal(&bench, &said), @r"
    error: the key file [ROOT]/home/.local/state/agent-loop/key can be read by others (mode 606); make it yours alone: chmod 600 [ROOT]/home/.local/state/agent-loop/key
    ");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&key, "no key").unwrap();
    bench.refuses(&repo, &["key"], 1, &["holds no key of 64 hexadecimal digits", "remove it"]);
}

#[test]
fn a_router_json_that_is_stale_or_torn_hides_no_router() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    for text in [
        "",
        "{",
        "{\"pid\": 1}",
        "{\"pid\":1,\"addr\":\"127.0.0.1:1\",\"version\":\"0\",\"started_at\":\"2026-01-01T00:00:00Z\"}",
    ] {
        fs::write(bench.state().join("router.json"), text).unwrap();
        bench.run(repo.path(), &["status"]).check(0, &["Router: not running"]);
        bench.run(repo.path(), &["router", "--stop"]).check(3, &["no router runs"]);
        bench.run(repo.path(), &["notify"]).check(0, &[]);
    }
    bench.run(repo.path(), &["up", "--yes"]).check(0, &["up: the router is at"]);
}
