//! A transport of one's own: every wake becomes a line of a file, here a notebook that a person reads.
//!
//! `cargo run -p loop-router --example custom_transport`

use std::{fs::OpenOptions, io::Write, path::PathBuf};

use async_trait::async_trait;
use loop_core::{DeliveryState, Name};
use loop_transport::{NoProgress, Presence, Progress, Receipt, Session, Transport, TransportError, Wake};

struct Notebook {
    page: PathBuf,
}

#[async_trait]
impl Transport for Notebook {
    async fn probe(&self, _session: &Session) -> Result<Presence, TransportError> {
        Ok(Presence::Idle)
    }

    async fn wake(&self, to: &Session, wake: &Wake, _: &dyn Progress) -> Result<Receipt, TransportError> {
        let page = OpenOptions::new().create(true).append(true).open(&self.page);
        page.and_then(|mut page| writeln!(page, "{}: {}", to.agent, wake.text)).map_err(|error| {
            TransportError::Failed(format!("cannot write {}: {error}", self.page.display()))
        })?;
        let note = format!("written into {}", self.page.display());
        Ok(Receipt { state: DeliveryState::Submitted, conversation: None, note, address: None })
    }

    async fn interrupt(&self, _session: &Session) -> Result<(), TransportError> {
        Err(TransportError::Failed("a notebook cannot be interrupted".into()))
    }

    async fn capture(&self, _session: &Session) -> Result<String, TransportError> {
        Ok(std::fs::read_to_string(&self.page).unwrap_or_default())
    }

    fn tells_idle(&self) -> bool {
        false // A notebook does not know when its reader has finished.
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let notebook = Notebook { page: folder.path().join("notebook.txt") };
    // A router gets it as `options.transports.push(("notebook".into(), Arc::new(notebook)))`.
    let profile = loop_core::profile::builtin("human").ok_or("no such kind")?;
    let session = Session::new("shop-1", Name::new("Dana")?, "notebook", profile, folder.path());
    let wake = Wake { delivery_id: "d-1".into(), attempt: 1, text: session.profile.wake_text("Dana") };
    let receipt = notebook.wake(&session, &wake, &NoProgress).await?;
    println!("{}: {}", receipt.state.as_str(), notebook.capture(&session).await?.trim_end());
    Ok(())
}
