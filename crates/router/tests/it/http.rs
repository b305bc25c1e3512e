//! The HTTP service through its real socket.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::{ID, WAIT, World, config};

const WEBHOOK: &str = "/webhook/agent-loop";

/// Sends these bytes and reads all of the answer.
async fn raw(world: &World, request: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(world.router.as_ref().unwrap().addr()).await.unwrap();
    stream.write_all(request.as_ref()).await.unwrap();
    let mut answer = Vec::new();
    // A reset after the answer is an answer too.
    let _ = tokio::time::timeout(WAIT, stream.read_to_end(&mut answer)).await.expect("an answer in time");
    String::from_utf8_lossy(&answer).into_owned()
}

/// A request as curl makes it, with these further header lines.
fn request(world: &World, line: &str, headers: &[&str], body: &str) -> String {
    let key = world.options.key.expose();
    let mut text = format!("{line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|header| header.to_ascii_lowercase().starts_with("host:")) {
        text.push_str("Host: 127.0.0.1\r\n");
    }
    if !headers.iter().any(|header| header.starts_with("Authorization:")) {
        text.push_str(&format!("Authorization: Bearer {key}\r\n"));
    }
    for header in headers {
        text.push_str(&format!("{header}\r\n"));
    }
    format!("{text}\r\n{body}")
}

/// The answer must be a problem document with this status; returns it.
#[track_caller]
fn problem(answer: &str, status: u16) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    let head = head.to_ascii_lowercase();
    assert!(head.contains("content-type: application/problem+json"), "{answer}");
    assert!(head.contains("content-security-policy: default-src 'none'"), "{answer}");
    let start = body.find('{').unwrap_or_else(|| panic!("no document: {answer}"));
    let end = body.rfind('}').unwrap_or_else(|| panic!("no document: {answer}"));
    let document: Value = serde_json::from_str(&body[start..=end]).unwrap();
    assert_eq!(document["status"], status, "{document}");
    for field in ["type", "title", "hint"] {
        assert!(
            document[field].as_str().is_some_and(|text| !text.is_empty()),
            "{field} is missing in {document}"
        );
    }
    assert!(!answer.contains(char::from(27)), "control characters come back");
    document
}

#[tokio::test]
async fn the_wire_format_of_the_old_flow() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.turn("CC", "built it", "");
    let body = r#"{"author":"CC","message":"CC: built it"}"#;
    // Without a repository, as the only loop that is known; with curl's own idea of a body's type.
    let headers = ["Content-Type: application/x-www-form-urlencoded"];
    let answer = raw(&world, request(&world, &format!("POST {WEBHOOK}"), &headers, body)).await;
    assert!(answer.starts_with("HTTP/1.1 202 Accepted\r\n"), "{answer}");
    let delivery = world.deliveries().await.pop().unwrap().id;
    let start = format!(r#"{{"status":"ok","target":"Codex","turn":1,"delivery":"{delivery}","#);
    assert!(answer.contains(&start), "{answer}");
    let again = raw(&world, request(&world, &format!("POST {WEBHOOK}"), &[], body)).await;
    assert!(again.contains(r#"{"status":"ok","target":null,"turn":null,"delivery":null,"#), "{again}");
    world.woken("Codex", 1).await;
    world.turn("Codex", "right", "REVIEW-PASS");
    let last = world.ring_here("Codex").await;
    assert_eq!((&last["target"], &last["state"]), (&Value::Null, &json!("passed")), "{last}");
}

#[tokio::test]
async fn a_ring_for_a_loop_that_is_down_names_nobody() {
    let mut world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
    world.start().await;
    world.section("CC", "built it", "");
    let answer = world.ring_here("CC").await;
    assert_eq!(answer["target"], Value::Null);
    assert!(answer["reason"].as_str().unwrap().contains("loop up"), "{answer}");
}

#[tokio::test]
async fn without_a_repository_there_must_be_exactly_one_loop() {
    let world = World::two().await;
    let other = world.sandbox.repo("other");
    world.open_loop(&other, "other-2", "main", &config(&["CC"], "")).await;
    let post = format!("POST {WEBHOOK}");
    let (status, answer) = world.ring(json!({"author": "CC", "message": "x"})).await;
    assert_eq!(status, 202, "the other one is down: {answer}");
    world.up("other-2").await;
    let document = problem(&raw(&world, request(&world, &post, &[], r#"{"author":"CC"}"#)).await, 409);
    let hint = document["hint"].as_str().unwrap();
    assert!(hint.contains("repo") && hint.contains("loop down"), "{document}");
    let folder = other.path().canonicalize().unwrap();
    assert!(document["detail"].as_str().unwrap().contains(folder.to_str().unwrap()), "{document}");
    let store = world.store().await;
    store.end_loop("other-2", jiff::Timestamp::now()).await.unwrap();
    store.end_loop(ID, jiff::Timestamp::now()).await.unwrap();
    let document = problem(&raw(&world, request(&world, &post, &[], r#"{"author":"CC"}"#)).await, 404);
    assert!(document["hint"].as_str().unwrap().contains("loop init"), "{document}");
}

#[tokio::test]
async fn bodies_that_make_no_sense_are_refused_and_wake_nobody() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    let outside = world.sandbox.root();
    let pwned = world.repo.path().join("pwned");
    let cases: Vec<(String, u16)> = vec![
        (String::new(), 400),
        ("not JSON".into(), 400),
        ("[1]".into(), 400),
        ("{}".into(), 400),
        (r#"{"author":["CC"]}"#.into(), 400),
        (r#"{"author":{"a":1}}"#.into(), 400),
        (r#"{"author":"CC","message":7}"#.into(), 400),
        (r#"{"author":"CC","repo":["/"]}"#.into(), 400),
        (r#"{"author":"CC","message":"\ud800"}"#.into(), 400),
        (r#"{"author":"Nobody"}"#.into(), 422),
        (r#"{"author":"CC\u001b[31m\u0000\r\nX-Evil: 1"}"#.into(), 422),
        (r#"{"author":"CC\"; touch pwned; \""}"#.into(), 422),
        (r#"{"author":"$(touch pwned)"}"#.into(), 422),
        (json!({"author": "CC", "repo": outside.join("nowhere")}).to_string(), 404),
        (json!({"author": "CC", "repo": outside}).to_string(), 404),
        (json!({"author": "CC", "repo": "../../etc\u{1b}[2J"}).to_string(), 404),
        (json!({"author": "A".repeat(5000)}).to_string(), 422),
    ];
    for (body, status) in cases {
        let answer = raw(&world, request(&world, &format!("POST {WEBHOOK}"), &[], &body)).await;
        let document = problem(&answer, status);
        assert!(!answer.to_ascii_lowercase().contains("\nx-evil"), "{answer}");
        assert!(document.to_string().len() < 1500, "{document}");
    }
    let unknown =
        raw(&world, request(&world, &format!("POST {WEBHOOK}"), &[], r#"{"author":"Nobody"}"#)).await;
    assert!(problem(&unknown, 422)["hint"].as_str().unwrap().contains("CC, Codex"));
    world.settle().await;
    assert_eq!(world.fake.all(), 1);
    assert!(!pwned.exists() && !outside.join("pwned").exists());
    // Names are matched without case, and a person's commit has no author's name.
    for author in ["cc", ""] {
        assert_eq!(world.ring_here(author).await["status"], "ok");
    }
}

#[tokio::test]
async fn a_huge_body_is_refused_before_it_is_read() {
    let world = World::two().await;
    let key = world.options.key.expose().to_owned();
    let head = |length: &str| {
        format!(
            "POST {WEBHOOK} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n{length}\r\n\r\n"
        )
    };
    problem(&raw(&world, head("Content-Length: 99999999")).await, 413);
    // In chunks nobody knows the length beforehand.
    let mut chunked = head("Transfer-Encoding: chunked").into_bytes();
    let chunk = "x".repeat(64 * 1024);
    for _ in 0..6 {
        chunked.extend_from_slice(format!("{:x}\r\n{chunk}\r\n", chunk.len()).as_bytes());
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    problem(&raw(&world, chunked).await, 413);
    assert_eq!(world.ring_here("CC").await["status"], "ok");
}

#[tokio::test]
async fn every_request_but_health_needs_the_key() {
    let world = World::two().await;
    let key = world.options.key.expose().to_owned();
    let wrong = format!("Authorization: Bearer {}", "0".repeat(64));
    let basic = format!("Authorization: Basic {key}");
    let bare = format!("Authorization: {key}");
    let short = format!("Authorization: Bearer {}", &key[..63]);
    let longer = format!("Authorization: Bearer {key}0");
    let offers =
        [wrong.as_str(), &basic, &bare, &short, &longer, "Authorization: Bearer ", "Authorization: \u{e9}"];
    let paths = [
        "POST /webhook/agent-loop",
        "GET /metrics",
        "GET /api/loops",
        "GET /api/events",
        "POST /api/loops/shop-1/accept",
        "POST /api/router/stop",
        "DELETE /api/loops/shop-1",
        "POST /health",
        "GET /nothing",
        "GET /?key=1",
    ];
    for path in paths {
        for offer in offers {
            let answer = raw(&world, request(&world, path, &[offer], r#"{"author":"CC"}"#)).await;
            let document = problem(&answer, 401);
            assert!(document["hint"].as_str().unwrap().contains("loop key"), "{document}");
            assert!(answer.to_ascii_lowercase().contains("www-authenticate: bearer"), "{answer}");
            assert!(!answer.contains(&key), "{answer}");
        }
    }
    // Not even that there is a huge body keeps the router busy without the key.
    let huge = format!(
        "POST {WEBHOOK} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 99999999\r\n\r\n"
    );
    problem(&raw(&world, huge).await, 401);
    let bearer = format!("Authorization: bearer {key}");
    assert!(raw(&world, request(&world, "GET /metrics", &[&bearer], "")).await.contains(" 200 OK"));
    let health = raw(&world, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert!(health.starts_with("HTTP/1.1 200 OK") && health.contains(r#""status":"ok""#), "{health}");
    assert!(!health.contains(&key));
}

#[tokio::test]
async fn other_hosts_and_origins_are_refused_even_with_the_key() {
    let world = World::two().await;
    let port = world.router.as_ref().unwrap().addr().port();
    let same = format!("Origin: http://localhost:{port}");
    let host = format!("Host: localhost:{port}");
    let other_port = format!("Origin: http://localhost:{}", port.wrapping_add(1));
    let refused: [&[&str]; 8] = [
        &["Host: evil.example"],
        &["Host: 127.0.0.1.evil.example"],
        &["Host: localhost.evil.example:5679"],
        &["Host: 10.0.0.1"],
        &[&host, "Origin: http://evil.example"],
        &[&host, "Origin: null"],
        &[&host, "Origin: https://localhost"],
        &[&host, &other_port],
    ];
    for headers in refused {
        for path in ["POST /webhook/agent-loop", "GET /health"] {
            problem(&raw(&world, request(&world, path, headers, r#"{"author":"CC"}"#)).await, 403);
        }
    }
    let own = raw(&world, request(&world, "GET /api/loops", &[&host, &same], "")).await;
    assert!(own.starts_with("HTTP/1.1 200 OK"), "{own}");
    for host in ["Host: 127.0.0.1:1", "Host: [::1]:5679", "Host: localhost"] {
        let answer = raw(&world, request(&world, "GET /health", &[host], "")).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    }
}

#[tokio::test]
async fn wrong_paths_methods_and_json_are_problem_documents() {
    let world = World::two().await;
    let cases: [(&str, &[&str], &str, u16); 13] = [
        ("GET /", &[], "", 404),
        ("GET /api", &[], "", 404),
        ("GET /webhook/agent-loop", &[], "", 405),
        ("PUT /api/loops", &[], "", 405),
        ("POST /health", &[], "", 405),
        ("GET /api/loops/nothing", &[], "", 404),
        ("GET /api/loops/nothing/turns", &[], "", 404),
        ("POST /api/loops/nothing/pause", &[], "", 404),
        ("POST /api/loops/shop-1/frobnicate", &[], "", 404),
        ("POST /api/loops", &["Content-Type: text/plain"], "{}", 415),
        ("POST /api/loops", &["Content-Type: application/json"], "{", 400),
        ("POST /api/loops", &["Content-Type: application/json"], r#"{"id":"x"}"#, 422),
        ("GET /api/loops/shop-1/log?after=soon", &[], "", 400),
    ];
    for (line, headers, body, status) in cases {
        problem(&raw(&world, request(&world, line, headers, body)).await, status);
    }
    let paused = request(&world, "POST /api/loops/shop-1/pause", &[], "[]");
    problem(&raw(&world, paused).await, 400);
    let no_name = request(&world, "POST /api/loops/shop-1/skip", &[], "{}");
    problem(&raw(&world, no_name).await, 400);
    let session = json!({"loop_id": ID, "agent": "CC", "transport": "pigeon", "address": "", "conversation": null,
        "pid": null, "started_by_loop": false, "registered_at": "2026-01-01T00:00:00Z"});
    let answer = world.post("/api/sessions").json(&session).send().await.unwrap();
    assert_eq!(answer.status(), 422);
    assert!(answer.text().await.unwrap().contains("command, exec, person, tmux, wait"));
}

#[tokio::test]
async fn loops_turns_deliveries_and_metrics_are_shown() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.turn("CC", "built it", "");
    world.woken("Codex", 1).await;
    let get = |path: String| {
        let request = world.get(&path);
        async move { request.send().await.unwrap().json::<Value>().await.unwrap() }
    };
    assert_eq!(get("/api/loops".into()).await[0]["id"], ID);
    assert_eq!(get(format!("/api/loops/{ID}")).await["state"], "running");
    assert_eq!(get(format!("/api/loops/{ID}/turns")).await[0]["summary"], "built it");
    assert_eq!(get(format!("/api/loops/{ID}/deliveries")).await.as_array().unwrap().len(), 2);
    assert!(get(format!("/api/loops/{ID}/ledger")).await.as_array().unwrap().len() > 4);
    assert!(get(format!("/api/loops/{ID}/log")).await.as_array().unwrap().len() > 3);
    assert_eq!(get("/api/sessions".into()).await.as_array().unwrap().len(), 2);
    let status = get(format!("/api/loops/{ID}/status")).await;
    assert_eq!((&status["state"], &status["decision"]["agent"]), (&json!("running"), &json!("Codex")));
    world.fake.screen(ID, "CC", "all done");
    assert_eq!(get(format!("/api/loops/{ID}/screen/CC")).await["text"], "all done");
    let metrics = world.get("/metrics").send().await.unwrap().text().await.unwrap();
    for line in ["loop_delivered_total 2", "loop_failed_total 0", "# EOF"] {
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[tokio::test]
async fn what_happens_is_streamed() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    let mut stream = world.get("/api/events").send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    world.turn("CC", "built it", "");
    world.steer("pause", json!({"why": "lunch"})).await;
    let mut seen = String::new();
    let all = [
        "event: turn",
        "built it",
        "event: decision",
        "event: steer",
        "lunch",
        &format!("\"loop_id\":\"{ID}\""),
    ];
    while !all.iter().all(|part| seen.contains(part)) {
        let chunk =
            tokio::time::timeout(WAIT, stream.chunk()).await.unwrap_or_else(|_| panic!("only {seen}"));
        seen.push_str(&String::from_utf8_lossy(&chunk.unwrap().expect("the stream goes on")));
    }
}

#[tokio::test]
async fn an_agent_can_wait_for_its_turn_in_a_request() {
    let yaml = config(&["CC", "Codex"], "").replace("transport: command", "transport: wait");
    let world = World::with(&yaml, |_| {}).await;
    let text = world.get(&format!("/api/loops/{ID}/wait?agent=CC&seconds=20")).send().await.unwrap();
    assert_eq!(text.json::<Value>().await.unwrap(), json!({"text": "/agent-loop CC"}));
    let started = Instant::now();
    let nothing = world.get(&format!("/api/loops/{ID}/wait?agent=Codex&seconds=1")).send().await.unwrap();
    assert_eq!(nothing.status(), 204);
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_client_that_never_finishes_its_request_does_not_block_others() {
    let world = World::with(&config(&["CC"], ""), |options| {
        options.header_limit = Duration::from_millis(400);
    })
    .await;
    let addr = world.router.as_ref().unwrap().addr();
    let mut slow = Vec::new();
    for _ in 0..40 {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: local").await.unwrap();
        slow.push(stream);
    }
    let started = Instant::now();
    let health = world.get("/health").send().await.unwrap();
    assert!(health.status().is_success() && started.elapsed() < Duration::from_secs(5));
    for mut stream in slow {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(WAIT, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "a client that says nothing is hung up on");
    }
}

#[tokio::test]
async fn a_huge_head_is_refused() {
    let world = World::two().await;
    let long = format!("X-Long: {}", "a".repeat(100_000));
    let answer = raw(&world, request(&world, "GET /health", &[&long], "")).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert_eq!(world.ring_here("CC").await["status"], "ok");
}

#[tokio::test]
async fn stopping_over_http_answers_and_ends_streams() {
    let mut world = World::two().await;
    let mut stream = world.get("/api/events").send().await.unwrap();
    let waiting = tokio::spawn(world.get(&format!("/api/loops/{ID}/wait?agent=CC&seconds=60")).send());
    world
        .until("the waiter to be there", || async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok(())
        })
        .await;
    let answer = world.post("/api/router/stop").send().await.unwrap();
    assert!(answer.status().is_success());
    let router = world.router.take().unwrap();
    tokio::time::timeout(WAIT, router.run(std::future::pending())).await.expect("it ends");
    assert_eq!(waiting.await.unwrap().unwrap().status(), 204);
    // What is left in it, then its end.
    while let Ok(Some(_)) = tokio::time::timeout(WAIT, stream.chunk()).await.expect("the stream ends") {}
    assert!(!world.options.state_dir.join("router.json").exists());
    assert!(!world.options.state_dir.join("router.json.new").exists());
}
