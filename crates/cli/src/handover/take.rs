//! Taking a hand-over, so that it counts once and its words are never lost.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::writer::writer;
use super::{MOST, Place, Stamp};
use crate::failure::Failure;

/// Whoever opened the file just before it was taken goes on writing to it; so long it is waited for.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A hand-over that is ours alone; it lies beside its place until [`Taken::done`].
#[derive(Debug)]
pub(crate) struct Taken {
    /// What it says.
    pub(crate) text: String,
    place: Place,
    aside: PathBuf,
}

/// Takes what was seen as `stamp`; `None`: somebody else was faster.
///
/// # Errors
/// Fails, and leaves it there, when it cannot be read, is no text, or the folder refuses.
pub(crate) async fn take(place: &Place, stamp: Stamp) -> Result<Option<Taken>, Failure> {
    // What cannot be used stays where it is for somebody who can.
    match read(&place.path) {
        Ok(bytes) => drop(place.text(bytes)?),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(place.refused("read", error)),
    }
    let aside = place.beside("taken");
    match fs::rename(&place.path, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(place.refused("take", error).next(format!(
                "a hand-over is taken by renaming it: see whose file it is and who may write in {}",
                place.folder.display()
            )));
        }
    }
    let taken = Taken { text: String::new(), place: place.clone(), aside };
    match taken.settled(stamp).await {
        Ok(text) => Ok(Some(Taken { text, ..taken })),
        Err(failure) => Err(taken.back(failure)),
    }
}

impl Taken {
    /// Its words, once nobody changes them any more. It may be another file than the one that was seen.
    async fn settled(&self, stamp: Stamp) -> Result<String, Failure> {
        let aside = Place { path: self.aside.clone(), ..self.place.clone() };
        let began = Instant::now();
        let mut last = stamp;
        loop {
            let file = aside.file()?.ok_or_else(|| {
                Failure::say(format!("{} was taken and is gone", self.place.path.display()))
            })?;
            let now = Stamp::of(&file);
            let is_still = now == last && writer(&self.aside).is_none();
            if is_still || began.elapsed() >= LAST_WORDS {
                break;
            }
            last = now;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let bytes = read(&self.aside).map_err(|error| self.place.refused("read", error))?;
        self.place.text(bytes)
    }

    /// It was printed: the file has served.
    pub(crate) fn done(self) -> Result<(), Failure> {
        fs::remove_file(&self.aside).map_err(|error| {
            Failure::users(
                anyhow::Error::new(error)
                    .context(format!("it was taken, but {} cannot be removed", self.aside.display())),
            )
        })
    }

    /// It could not be used: it lies there again, or is named where it lies.
    pub(crate) fn back(self, failure: Failure) -> Failure {
        // A link fails where a newer one lies meanwhile, which a rename would overwrite.
        let lies_there =
            fs::hard_link(&self.aside, &self.place.path).and_then(|()| fs::remove_file(&self.aside));
        match lies_there {
            Ok(()) => failure,
            Err(_) => failure.next(format!("it lies in {} now", self.aside.display())),
        }
    }
}

/// Reads at most one byte more than a hand-over may have.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn place(folder: &Path) -> Place {
        Place::new(folder, Path::new("f")).unwrap()
    }

    fn stamp(place: &Place) -> Stamp {
        Stamp::of(&place.file().unwrap().unwrap())
    }

    fn files(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    #[tokio::test]
    async fn of_many_exactly_one_takes_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        for round in 0..20 {
            fs::write(&place.path, format!("round {round}")).unwrap();
            let stamp = stamp(&place);
            let tries = (0..8).map(|_| take(&place, stamp));
            let taken = futures_util::future::join_all(tries).await;
            let mut taken: Vec<Taken> = taken.into_iter().filter_map(Result::unwrap).collect();
            assert_eq!(taken.len(), 1);
            let taken = taken.remove(0);
            assert_eq!(taken.text, format!("round {round}"));
            taken.done().unwrap();
            assert!(files(folder.path()).is_empty());
        }
    }

    #[tokio::test]
    async fn what_is_no_text_stays() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        fs::write(&place.path, b"\xff\xfe").unwrap();
        let failure = take(&place, stamp(&place)).await.unwrap_err();
        assert!(failure.words().contains("is not text"), "{}", failure.words());
        assert_eq!(files(folder.path()), ["f"]);
    }

    #[tokio::test]
    async fn what_could_not_be_used_lies_there_again_or_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        fs::write(&place.path, "first").unwrap();
        let taken = take(&place, stamp(&place)).await.unwrap().unwrap();
        taken.back(Failure::say("no reader"));
        assert_eq!(fs::read_to_string(&place.path).unwrap(), "first");
        let taken = take(&place, stamp(&place)).await.unwrap().unwrap();
        fs::write(&place.path, "newer").unwrap();
        taken.back(Failure::say("no reader"));
        assert_eq!(fs::read_to_string(&place.path).unwrap(), "newer");
        assert_eq!(files(folder.path()).len(), 2);
    }

    #[tokio::test]
    async fn the_last_words_of_a_writer_are_waited_for() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        fs::write(&place.path, "half").unwrap();
        let seen = stamp(&place);
        let mut late = fs::OpenOptions::new().append(true).open(&place.path).unwrap();
        let taking = take(&place, seen);
        let writing = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            late.write_all(b" whole").unwrap();
            drop(late);
        };
        let (taken, ()) = tokio::join!(taking, writing);
        assert_eq!(taken.unwrap().unwrap().text, "half whole");
    }
}
