//! The file with the secret, followed while it changes: with two secrets on the proxies a key is
//! changed by writing the file, and the backend stays a member.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::codec::beacon::Key;
use crate::config::directive::beacon::secret_file;

/// A secret and where it came from.
#[derive(Clone, Debug)]
pub struct SecretFile {
    path: PathBuf,
    key: Key,
    /// What the file looked like when it was read last, whatever came of it.
    looked: Option<Look>,
}

/// Whatever changes of a file that is written anew or exchanged.
type Look = (u64, u64, u64, u32, i64, i64, i64, i64);

impl SecretFile {
    /// Reads it.
    ///
    /// # Errors
    /// One line for people, without anything of the secret.
    pub fn open(path: &Path) -> Result<SecretFile, String> {
        Ok(SecretFile {
            looked: look(path),
            key: secret_file(path)?,
            path: path.to_owned(),
        })
    }

    /// The secret that was read last.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Its path for messages.
    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Reads it if it has changed: `None` if not.
    pub fn follow(&mut self) -> Option<Result<(), String>> {
        (look(&self.path) != self.looked).then(|| self.read())
    }

    /// Reads it again; what cannot be used leaves the secret from before.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn read(&mut self) -> Result<(), String> {
        self.looked = look(&self.path);
        self.key = secret_file(&self.path)?;
        Ok(())
    }
}

fn look(path: &Path) -> Option<Look> {
    let m = std::fs::metadata(path).ok()?;
    Some((
        m.dev(),
        m.ino(),
        m.size(),
        m.mode(),
        m.mtime(),
        m.mtime_nsec(),
        m.ctime(),
        m.ctime_nsec(),
    ))
}
