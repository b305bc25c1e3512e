//! The agent in a terminal: input, turns, picture.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use loop_testkit::terminal::{Key, Keys, Raw, print_now, size};

use crate::screen::{Picture, draw};
use crate::turn::{Ending, Player, Stage, called};

enum Event {
    Key(Key),
    Line(String),
    Ask(String),
    Draft(String),
    Ended(Ending),
    InputClosed,
}

/// A running turn's way to the screen.
struct Window {
    events: Sender<Event>,
    answers: Receiver<()>,
}

impl Stage for Window {
    fn line(&mut self, text: &str) {
        let _ = self.events.send(Event::Line(text.to_owned()));
    }

    fn ask(&mut self, question: &str) {
        let _ = self.events.send(Event::Ask(question.to_owned()));
        let _ = self.answers.recv();
    }

    fn draft(&mut self, text: &str) {
        let _ = self.events.send(Event::Draft(text.to_owned()));
    }
}

/// Runs until the script, Ctrl-C at an empty prompt, or the terminal's end ends it; returns the exit code.
pub(crate) fn run(player: &Player, name: &str) -> i32 {
    let Some(raw) = Raw::enter() else {
        eprintln!("loop-fake-agent: stdin is no terminal; use --headless TEXT");
        return 2;
    };
    if let Some(code) = player.script.exit_at_start {
        print_now("cannot start: the script says so\r\n");
        // Some versions of tmux lose what a program says in its last milliseconds.
        std::thread::sleep(Duration::from_millis(200));
        return code;
    }
    let (sender, events) = channel();
    read_keys(sender.clone());
    lose_early_input(&events, player.script.slow_start_ms);
    player.record.write("ready", name, false);
    let ending = Agent::new(player, name, sender).live(&events);
    drop(raw);
    match ending {
        Ending::Exit(code) => code,
        Ending::Done => 0,
        Ending::Shell => {
            player.record.write("shell", "", false);
            let error = std::process::Command::new("sh").arg("-i").exec();
            eprintln!("loop-fake-agent: cannot become a shell: {error}");
            1
        }
    }
}

fn read_keys(events: Sender<Event>) {
    std::thread::spawn(move || {
        let mut keys = Keys::default();
        let mut buffer = [0; 4096];
        loop {
            match std::io::stdin().read(&mut buffer) {
                Ok(0) | Err(_) => {
                    let _ = events.send(Event::InputClosed);
                    return;
                }
                Ok(length) => {
                    for key in keys.feed(buffer.get(..length).unwrap_or_default()) {
                        if events.send(Event::Key(key)).is_err() {
                            return;
                        }
                    }
                }
            }
        }
    });
}

fn lose_early_input(events: &Receiver<Event>, milliseconds: u64) {
    let end = Instant::now() + Duration::from_millis(milliseconds);
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        let _ = events.recv_timeout(left);
    }
}

/// The agent's state between two pictures.
struct Agent<'a> {
    player: &'a Player,
    name: &'a str,
    events: Sender<Event>,
    answers: Option<Sender<()>>,
    transcript: Vec<String>,
    composer: String,
    dialog: Option<String>,
    queue: Vec<String>,
    enters_to_drop: u32,
    last_text: Option<Instant>,
}

impl<'a> Agent<'a> {
    fn new(player: &'a Player, name: &'a str, events: Sender<Event>) -> Self {
        Self {
            player,
            name,
            events,
            answers: None,
            transcript: vec![format!("loop-fake-agent plays {name}")],
            composer: player.script.draft_at_start.clone().unwrap_or_default(),
            dialog: player.script.ask_at_start.clone(),
            queue: Vec::new(),
            enters_to_drop: player.script.drop_enters,
            last_text: None,
        }
    }

    fn busy(&self) -> bool {
        self.answers.is_some()
    }

    fn live(mut self, events: &Receiver<Event>) -> Ending {
        let mut shown = String::new();
        loop {
            self.show(&mut shown);
            // The time-out redraws after a resize.
            let ending = match events.recv_timeout(Duration::from_millis(50)) {
                Ok(event) => self.hear(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Ending::Exit(0)),
            };
            if let Some(ending) = ending {
                return ending;
            }
        }
    }

    fn show(&self, shown: &mut String) {
        let (rows, columns) = size();
        let picture = Picture {
            name: self.name,
            transcript: &self.transcript,
            composer: &self.composer,
            busy: self.busy(),
            dialog: self.dialog.as_deref(),
        };
        let bytes = draw(&picture, rows, columns);
        if bytes != *shown {
            print_now(&bytes);
            *shown = bytes;
        }
    }

    fn hear(&mut self, event: Event) -> Option<Ending> {
        match event {
            Event::Key(key) => return self.press(key),
            Event::Line(line) => self.transcript.push(line),
            Event::Ask(question) => self.dialog = Some(question),
            Event::Draft(text) => self.composer.push_str(&text),
            Event::Ended(Ending::Done) => {
                self.answers = None;
                if !self.queue.is_empty() {
                    let text = self.queue.remove(0);
                    self.begin(&text);
                }
            }
            Event::Ended(ending) => return Some(ending),
            Event::InputClosed => return Some(Ending::Exit(0)),
        }
        None
    }

    fn press(&mut self, key: Key) -> Option<Ending> {
        if self.dialog.is_some() {
            self.player.record.write("key-at-dialog", &format!("{key:?}"), self.busy());
            self.dialog = None;
            if let Some(answers) = &self.answers {
                let _ = answers.send(());
            }
            return None;
        }
        match key {
            Key::Char(c) => {
                self.composer.push(c);
                self.last_text = Some(Instant::now());
            }
            Key::Paste(text) => {
                self.composer.push_str(&text);
                self.last_text = Some(Instant::now());
            }
            Key::Enter | Key::Tab => self.enter(),
            Key::Backspace => {
                self.composer.pop();
            }
            Key::Clear => self.composer.clear(),
            Key::Escape if self.busy() => self.player.stop.store(true, Ordering::SeqCst),
            Key::Escape | Key::Answer => {}
            Key::Interrupt if self.busy() => self.player.stop.store(true, Ordering::SeqCst),
            Key::Interrupt => return Some(Ending::Exit(130)),
        }
        None
    }

    fn enter(&mut self) {
        if self.enters_to_drop > 0 {
            self.enters_to_drop -= 1;
            self.player.record.write("enter-dropped", &self.composer, self.busy());
            return;
        }
        let burst = Duration::from_millis(self.player.script.burst_ms);
        if self.last_text.is_some_and(|at| at.elapsed() < burst) {
            self.composer.push('\n');
            return;
        }
        let text = std::mem::take(&mut self.composer).trim().to_owned();
        if text.is_empty() {
            return;
        }
        self.player.record.write("submitted", &text, self.busy());
        if self.busy() {
            self.queue.push(text);
        } else {
            self.begin(&text);
        }
    }

    fn begin(&mut self, text: &str) {
        self.transcript.push(format!("> {text}"));
        let Some(name) = called(text).map(str::to_owned) else {
            self.player.record.write("unknown-text", text, false);
            return;
        };
        let (sender, answers) = channel();
        self.answers = Some(sender);
        let player = self.player.clone();
        let events = self.events.clone();
        std::thread::spawn(move || {
            let mut window = Window { events: events.clone(), answers };
            let ending = player.play(&name, &mut window);
            let _ = events.send(Event::Ended(ending));
        });
    }
}
