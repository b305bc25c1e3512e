//! Every channel against a server on loopback.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;

use jiff::Timestamp;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const SECRET: &str = "hunter2-T0ken";
const HOSTILE: &str =
    "CC asks: <!channel> <at user_id=\"all\">x</at> & \u{1b}[2J\u{202e}循环 🤖 `loop status`";

/// Answers one request after the other, the last answer for good, and keeps what it was sent.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn new(answers: &[&str]) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), answers)
    }

    fn on(listener: TcpListener, answers: &[&str]) -> Self {
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
        let kept = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut open = Vec::new();
            for turn in 0.. {
                let Ok((mut stream, _)) = listener.accept().await else { return };
                let request = request(&mut stream).await;
                let answer = &answers[turn.min(answers.len() - 1)];
                let answer = if answer == "ECHO" {
                    raw("403 Forbidden", "", &request.replace(['\r', '\n'], " "))
                } else {
                    answer.clone()
                };
                kept.lock().unwrap().push(request);
                if answer == "SLOW" {
                    open.push(stream);
                    continue;
                }
                // A client that has read enough may be gone.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { port, asked }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook/{SECRET}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Head and body of the only request.
    #[track_caller]
    fn only(&self) -> (String, Value) {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        let (head, body) = asked[0].split_once("\r\n\r\n").unwrap();
        (head.to_owned(), serde_json::from_str(body).unwrap())
    }
}

async fn request(stream: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return text,
            // The beginning of TLS.
            Ok(_) if bytes.is_empty() && chunk[0] != b'P' => return text,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}

fn raw(status: &str, header: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{header}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn ok(body: &str) -> String {
    raw("200 OK", "", body)
}

fn message() -> Message {
    Message::new(
        Kind::Asks,
        "loop waiting: 商店",
        HOSTILE,
        Path::new("/home/dana/shop"),
        Timestamp::UNIX_EPOCH,
    )
    .of_loop("0193-id")
}

fn read(settings: &Value) -> Tell {
    Tell::read(settings, &Around::default()).unwrap()
}

fn settings(channel: &str, url: &str) -> Value {
    match channel {
        "ntfy" => json!({"ntfy": {"url": url, "topic": "topic-hunter2", "token": SECRET}}),
        "slack" => json!({"slack": {"url": url}}),
        channel => json!({channel: {"url": url, "secret": SECRET}}),
    }
}

/// What each service says when it took the message.
fn taken(channel: &str) -> String {
    ok(match channel {
        "ntfy" => r#"{"id":"x1","event":"message"}"#,
        "slack" => "ok",
        "feishu" => r#"{"code":0,"msg":"success","data":{}}"#,
        _ => "",
    })
}

const OVER_HTTP: [&str; 4] = ["ntfy", "slack", "feishu", "webhook"];

async fn once(settings: &Value) -> Result<(), TellError> {
    read(settings).send(&message()).await.remove(0).outcome
}

#[track_caller]
fn shows_no_secret(text: &str) {
    assert!(!text.contains("hunter2"), "{text}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

#[tokio::test]
async fn each_service_gets_what_it_understands() {
    let harmless = "\\u{1b}[2J\\u{202e}循环 🤖 `loop status`\nin /home/dana/shop";
    for channel in OVER_HTTP {
        let server = Server::new(&[&taken(channel)]).await;
        once(&settings(channel, &server.url())).await.unwrap_or_else(|error| panic!("{channel}: {error}"));
        let (head, body) = server.only();
        let head = head.to_lowercase();
        assert!(head.starts_with(&format!("post /hook/{SECRET} http/1.1").to_lowercase()), "{head}");
        assert!(!body.to_string().contains("\\u001b"), "{body}");
        match channel {
            "ntfy" => {
                assert!(head.contains(&format!("authorization: bearer {SECRET}").to_lowercase()), "{head}");
                assert_eq!(body["topic"], "topic-hunter2");
                assert_eq!(body["title"], "loop waiting: 商店");
                assert!(body["message"].as_str().unwrap().ends_with(harmless), "{body}");
                assert_eq!((&body["priority"], &body["tags"]), (&json!(4), &json!(["question"])));
            }
            "slack" => {
                let text = body["text"].as_str().unwrap();
                assert!(text.starts_with("*loop waiting: 商店*\nCC asks: &lt;!channel&gt; "), "{text}");
                assert!(text.contains("&lt;/at&gt; &amp; ") && text.ends_with(harmless), "{text}");
            }
            "feishu" => {
                let text = body["content"]["text"].as_str().unwrap();
                assert!(body["msg_type"] == "text" && text.contains("＜at user_id") && !text.contains('<'));
                assert!(text.ends_with(harmless), "{text}");
                let time = body["timestamp"].as_str().unwrap();
                assert!(time.parse::<i64>().unwrap() > 1_700_000_000);
                assert_eq!(body["sign"].as_str().unwrap().len(), 44);
            }
            _ => {
                let header = |name: &str| {
                    let line = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
                    line.unwrap_or_else(|| panic!("{head}")).to_owned()
                };
                let asked = server.asked();
                let signed =
                    format!("{}.{}", header("x-loop-timestamp"), asked[0].split_once("\r\n\r\n").unwrap().1);
                let mac = hex::encode(sign::hmac_sha256(SECRET.as_bytes(), signed.as_bytes()));
                assert_eq!(header("x-loop-signature"), format!("sha256={mac}"));
                assert_eq!((&body["kind"], &body["loop"]), (&json!("asks"), &json!("0193-id")));
                assert_eq!(
                    (&body["repo"], &body["at"]),
                    (&json!("/home/dana/shop"), &json!("1970-01-01T00:00:00Z"))
                );
                assert!(body["text"].as_str().unwrap().ends_with(harmless) && body["title"].is_string());
            }
        }
    }
}

#[tokio::test]
async fn what_was_not_taken_is_an_error_that_says_why() {
    let big = "x".repeat(3_000_000);
    let cases = [
        ("slack", raw("404 Not Found", "", "no_service"), "answered 404 Not Found: no_service", false),
        ("slack", ok("<html>log in</html>"), "answered 200: <html>log in</html>", true),
        (
            "slack",
            raw("500 Oops", "", "\u{1b}[31mboom"),
            "answered 500 Internal Server Error: \\u{1b}[31mboom",
            true,
        ),
        ("slack", raw("429 Slow", "", ""), "answered 429 Too Many Requests", true),
        ("slack", ok(&big), "answered 200: xxx", true),
        ("ntfy", raw("403 Forbidden", "", r#"{"code":40301}"#), "answered 403 Forbidden", false),
        ("ntfy", ok("<html>"), "answered 200: <html>", true),
        ("feishu", ok(r#"{"code":19021,"msg":"sign match fail"}"#), "answered 200, but code 19021: ", false),
        ("feishu", ok(r#"{"code":11232,"msg":"frequency limited"}"#), "but code 11232: ", true),
        ("feishu", ok("hello"), "answered 200: hello", true),
        ("feishu", raw("400 Bad", "", r#"{"code":19001}"#), "answered 400 Bad Request", false),
        ("webhook", raw("204 No Content", "", ""), "", false),
        ("webhook", raw("401 No", "", ""), "answered 401 Unauthorized", false),
        ("webhook", "nonsense\r\n\r\n".to_owned(), "cannot reach 127.0.0.1:", true),
        ("webhook", String::new(), "cannot reach 127.0.0.1:", true),
    ];
    for (channel, answer, expected, may_pass) in cases {
        let server = Server::new(&[&answer]).await;
        let outcome = once(&settings(channel, &server.url())).await;
        if expected.is_empty() {
            assert!(outcome.is_ok(), "{channel}: {outcome:?}");
            continue;
        }
        let error = outcome.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected) && text.len() < 400, "{channel}: {text}");
        assert_eq!(error.may_pass(), may_pass, "{channel}: {text}");
        assert!(!error.next().is_empty());
        shows_no_secret(&text);
    }
    let older = Server::new(&[&ok(r#"{"StatusCode":0,"StatusMessage":"success"}"#)]).await;
    once(&settings("feishu", &older.url())).await.unwrap();
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::new(&[&ok("ok")]).await;
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let location = format!("location: {}\r\n", elsewhere.url());
        let server = Server::new(&[&raw(status, &location, "")]).await;
        let error = once(&settings("slack", &server.url())).await.unwrap_err();
        assert!(error.to_string().contains("answered 30") && error.next().contains("redirect"), "{error}");
    }
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn secrets_are_shown_by_nothing() {
    for channel in OVER_HTTP {
        let server = Server::new(&["ECHO"]).await;
        let tell = read(&settings(channel, &server.url()));
        let tried = tell.send(&message()).await;
        shows_no_secret(&format!("{tell:?} {tried:?}"));
        let error = tried[0].outcome.as_ref().unwrap_err();
        shows_no_secret(&format!("{error} {error:?} {} {}", error.next(), tried[0].place));
        // Plain HTTP where TLS is expected, and nobody at all.
        for url in
            [format!("https://127.0.0.1:{}/{SECRET}", server.port), format!("https://127.0.0.1:1/{SECRET}")]
        {
            let error = once(&settings(channel, &url)).await.unwrap_err();
            assert!(matches!(error, TellError::Unreachable { .. }), "{error}");
            shows_no_secret(&format!("{error} {error:?}"));
        }
    }
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_without_repeating_them() {
    let url = format!("https://h.example/{SECRET}");
    for (settings, key, why) in [
        (json!(url), "`tell`", "one key per channel"),
        (
            json!({"slak": {"url": url}}),
            "`tell.slak`",
            "known: command, desktop, ntfy, slack, feishu, webhook",
        ),
        (json!({"slack": url}), "`tell.slack`", "keys of its own: slack: {url:"),
        (json!({"slack": {}}), "`tell.slack.url`", "is missing"),
        (json!({"slack": {"url": url, "secret": SECRET}}), "`tell.slack.secret`", "is unknown; known: url"),
        (json!({"slack": {"url": format!("http://h.example/{SECRET}")}}), "`tell.slack.url`", "https://"),
        (json!({"slack": {"url": SECRET}}), "`tell.slack.url`", "is no address"),
        (json!({"slack": {"url": {"evn": SECRET}}}), "`tell.slack.url`", "{env: NAME} or {file: PATH}"),
        (json!({"slack": {"url": {"file": "hunter2"}}}), "`tell.slack.url`", "relative path"),
        (json!({"slack": {"url": [url]}}), "`tell.slack.url`", "must be a text"),
        (json!({"ntfy": {"url": url, "topic": 12}}), "`tell.ntfy.topic`", "quotes"),
        (json!({"ntfy": {"url": url}}), "`tell.ntfy.topic`", "is missing"),
        (json!({"webhook": {"url": url}}), "`tell.webhook.secret`", "is missing"),
        (json!({"webhook": {"url": url, "secret": " "}}), "`tell.webhook.secret`", "is empty"),
        (json!({"desktop": "hunter2"}), "`tell.desktop`", "true or false"),
        (json!({"command": []}), "`tell.command`", "names no program"),
        (json!({"command": "say 'hunter2"}), "`tell.command`", "cannot be split"),
        (json!({"command": {"hunter2": 1}}), "`tell.command`", "must be a list"),
    ] {
        let error = Tell::read(&settings, &Around::default()).unwrap_err().to_string();
        assert!(error.starts_with(key) && error.contains(why), "{settings}: {error}");
        shows_no_secret(&error);
    }
    let off = json!({"desktop": false, "command": null, "slack": null});
    assert!(read(&off).is_empty() && read(&Value::Null).is_empty());
}

#[tokio::test]
async fn a_secret_may_stand_in_the_environment_or_in_a_file() {
    let server = Server::new(&[&ok("ok")]).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slack-url");
    let around =
        Around { env: BTreeMap::from([("SLACK".to_owned(), server.url())]), home: folder.path().to_owned() };
    let tell = |reference: Value| Tell::read(&json!({"slack": {"url": reference}}), &around).unwrap();
    let sent = |tell: Tell| async move { tell.send(&message()).await.remove(0).outcome };
    sent(tell(json!({"env": "SLACK"}))).await.unwrap();
    let missing = sent(tell(json!({"env": "SLAK"}))).await.unwrap_err();
    assert!(missing.to_string().contains("no variable SLAK"), "{missing}");
    assert!(missing.to_string().starts_with("tell.slack.url: ") && !missing.may_pass());
    let by_file = tell(json!({"file": "~/slack-url"}));
    assert!(by_file.configured()[0].ready().await.unwrap_err().to_string().contains("slack-url"));
    for (content, works) in [
        (format!("{}\n", server.url()), true),
        (String::new(), false),
        (format!("{}\nmore", server.url()), false),
        ("http://h.example/hunter2".to_owned(), false),
    ] {
        std::fs::write(&file, content).unwrap();
        let outcome = sent(by_file.clone()).await;
        assert_eq!(outcome.is_ok(), works, "{outcome:?}");
        shows_no_secret(&format!("{outcome:?}"));
    }
    assert_eq!(by_file.configured()[0].secret_files(), [file]);
    assert!(!by_file.configured()[0].holds_secrets());
    assert!(read(&settings("slack", &server.url())).configured()[0].holds_secrets());
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_what_may_not_is_not() {
    let pauses = vec![Duration::from_millis(10); 3];
    for (answers, expected, works) in [
        (vec![raw("503 No", "", ""), raw("500 No", "", ""), ok("ok")], 3, true),
        (vec![raw("503 No", "", "")], 4, false),
        (vec![raw("403 No", "", ""), ok("ok")], 1, false),
    ] {
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        let server = Server::new(&answers).await;
        let tell = read(&settings("slack", &server.url()));
        let outcome = patiently(&tell.configured()[0], &message(), &pauses).await;
        assert_eq!((outcome.is_ok(), server.asked().len()), (works, expected));
    }
}

#[tokio::test]
async fn a_server_that_comes_back_gets_the_message() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let tell = read(&settings("webhook", &format!("http://{addr}/")));
    let down = tell.send(&message()).await.remove(0).outcome.unwrap_err();
    assert!(down.to_string().contains("refused"), "{down}");
    let pauses = vec![Duration::from_millis(20); 500];
    let trying = tokio::spawn(async move { patiently(&tell.configured()[0], &message(), &pauses).await });
    let server = Server::on(TcpListener::bind(addr).await.unwrap(), &[&ok("")]);
    trying.await.unwrap().unwrap();
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_slow_server_is_given_up_and_delays_nobody_else() {
    let (slow, quick) = (Server::new(&["SLOW"]).await, Server::new(&[&ok("ok")]).await);
    let tell = read(&json!({
        "webhook": {"url": slow.url(), "secret": SECRET},
        "slack": {"url": quick.url()},
    }));
    let tried = tell.send(&message()).await;
    assert_eq!(tried[0].channel, "slack");
    assert!(tried[0].outcome.is_ok() && tried[0].took < Duration::from_secs(8), "{:?}", tried[0]);
    let error = tried[1].outcome.as_ref().unwrap_err();
    assert!(error.to_string().ends_with("no answer within 10 s") && error.may_pass(), "{error}");
}

#[tokio::test]
async fn a_command_gets_words_and_never_a_shell_string() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out");
    let script = format!("printf '%s|%s' \"$1\" \"$LOOP_KIND\" > {}", file.display());
    let words = ["/bin/sh", "-c", &script, "tell", "{text}"].map(String::from).to_vec();
    let hostile = Message { text: "$(touch pwned) `x` \"q\"".into(), ..message() };
    let tell = Tell::command(words, BTreeMap::from([("KEY".to_owned(), SECRET.to_owned())]));
    tell.send(&hostile).await.remove(0).outcome.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "$(touch pwned) `x` \"q\"|asks");
    shows_no_secret(&format!("{tell:?}"));
    let failing = read(&json!({"command": ["/bin/sh", "-c", "echo no route >&2; exit 3"]}));
    let error = failing.send(&message()).await.remove(0).outcome.unwrap_err().to_string();
    assert!(error.contains("no route") && error.contains('3'), "{error}");
    let missing = read(&json!({"command": "no-such-program-here {title}"}));
    assert!(missing.configured()[0].ready().await.is_err());
    assert!(matches!(missing.send(&message()).await.remove(0).outcome, Err(TellError::Start { .. })));
}

#[tokio::test]
#[cfg(not(target_os = "macos"))]
async fn the_desktop_is_notified_where_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let (out, program) = (folder.path().join("out"), folder.path().join("notify-send"));
    let tell = |bus: bool| {
        let mut env =
            BTreeMap::from([("PATH".to_owned(), format!("{}:/bin:/usr/bin", folder.path().display()))]);
        if bus {
            env.insert("DBUS_SESSION_BUS_ADDRESS".to_owned(), "unix:path=/nowhere".to_owned());
        }
        Tell::read(&json!({"desktop": true}), &Around { env, home: folder.path().to_owned() }).unwrap()
    };
    std::fs::write(&program, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\n", out.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = tell(false).send(&message()).await.remove(0).outcome.unwrap_err();
    assert!(error.to_string().contains("no session bus") && error.next().contains("desktop"), "{error}");
    tell(true).send(&message()).await.remove(0).outcome.unwrap();
    let words = std::fs::read_to_string(&out).unwrap();
    assert!(words.contains("\n--\nloop waiting: 商店\nCC asks: &lt;!channel&gt; "), "{words}");
    assert!(words.ends_with("`loop status`\nin /home/dana/shop\n"), "{words}");
}
