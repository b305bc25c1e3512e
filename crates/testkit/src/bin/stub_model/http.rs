//! As much HTTP/1.1 as agent CLIs speak to a model.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A request with its whole conversation is a few hundred kilobytes.
const BODY_LIMIT: u64 = 32 * 1024 * 1024;
const HEAD_LIMIT: u64 = 64 * 1024;
/// A connection that stays silent this long is closed.
const SILENCE: Duration = Duration::from_secs(120);

/// A request.
pub(crate) struct Request {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

/// A response.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl Response {
    /// A JSON document.
    pub(crate) fn json(status: u16, document: &serde_json::Value) -> Self {
        Self { status, content_type: "application/json", body: document.to_string() }
    }

    /// Server-sent events, each with its name as `type`.
    pub(crate) fn events(events: &[serde_json::Value]) -> Self {
        let event = |event: &serde_json::Value| {
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message"))
        };
        Self { status: 200, content_type: "text/event-stream", body: events.iter().map(event).collect() }
    }

    /// Server-sent events without names.
    pub(crate) fn unnamed_events(events: &[serde_json::Value]) -> Self {
        let body = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        Self { status: 200, content_type: "text/event-stream", body }
    }

    /// Server-sent events without names, with the mark behind them that nothing follows.
    pub(crate) fn chunks(chunks: &[serde_json::Value]) -> Self {
        let mut response = Self::unnamed_events(chunks);
        response.body.push_str("data: [DONE]\n\n");
        response
    }
}

/// One client's connection.
pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { reader: BufReader::new(stream.try_clone()?), writer: stream })
    }

    /// The next request; `None` when the client has closed.
    pub(crate) fn read(&mut self) -> io::Result<Option<Request>> {
        let mut head = self.reader.by_ref().take(HEAD_LIMIT);
        let mut first = String::new();
        if head.read_line(&mut first)? == 0 {
            return Ok(None);
        }
        let mut words = first.split_whitespace();
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(invalid("no request line"));
        };
        let (mut length, mut chunked, mut expects) = (0_u64, false, false);
        loop {
            let mut line = String::new();
            if head.read_line(&mut line)? == 0 {
                return Err(invalid("the head does not end"));
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header without a colon"))?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().map_err(|_| invalid("a bad content-length"))?,
                "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
                "expect" => expects = value.eq_ignore_ascii_case("100-continue"),
                _ => {}
            }
        }
        if expects {
            self.writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = if chunked { self.chunks()? } else { self.bytes(length)? };
        let path = target.split('?').next().unwrap_or(target).to_owned();
        Ok(Some(Request { method: method.to_owned(), path, body }))
    }

    fn bytes(&mut self, length: u64) -> io::Result<Vec<u8>> {
        if length > BODY_LIMIT {
            return Err(invalid("the body is too long"));
        }
        let mut body = Vec::new();
        self.reader.by_ref().take(length).read_to_end(&mut body)?;
        Ok(body)
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut line = String::new();
            self.reader.by_ref().take(1024).read_line(&mut line)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16).map_err(|_| invalid("a bad chunk"))?;
            if size + body.len() as u64 > BODY_LIMIT {
                return Err(invalid("the body is too long"));
            }
            body.extend(self.bytes(size)?);
            self.reader.by_ref().take(2).read_line(&mut line)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    /// Answers; `with_body` is false for HEAD.
    pub(crate) fn write(&mut self, response: &Response, with_body: bool) -> io::Result<()> {
        let head = format!(
            "HTTP/1.1 {} Answer\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n",
            response.status,
            response.content_type,
            response.body.len()
        );
        let body = if with_body { response.body.as_str() } else { "" };
        self.writer.write_all([head.as_str(), body].concat().as_bytes())
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
