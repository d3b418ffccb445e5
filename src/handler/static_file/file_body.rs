//! Pieces of a file, and texts between them, as a body.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::body::{Length, Raw, Source};
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::reactor::buffers::{self, Buf};

/// A piece of the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Text(Vec<u8>),
    /// So many bytes of the file from this offset on.
    Part {
        /// Where in the file.
        offset: u64,
        /// How many bytes, not 0.
        len: u64,
    },
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Piece::Text(text) => text.len() as u64,
            Piece::Part { len, .. } => *len,
        }
    }
}

/// A body made of pieces of one file. A file that became shorter ends the body with an error, so
/// that the message looks cut; what a file grew by is not sent.
pub struct FileBody {
    file: Rc<File>,
    pieces: VecDeque<Piece>,
    /// Read and not yet taken; the first piece does not count it any more.
    buffer: Option<Buf>,
    /// Everything still to come, the buffer included.
    left: u64,
    /// The file's descriptor may be given away.
    sendfile: bool,
}

impl FileBody {
    /// The pieces in order.
    pub fn new(file: File, pieces: impl IntoIterator<Item = Piece>, sendfile: bool) -> FileBody {
        let pieces: VecDeque<_> = pieces.into_iter().filter(|p| p.len() > 0).collect();
        FileBody {
            file: Rc::new(file),
            left: pieces.iter().map(Piece::len).sum(),
            pieces,
            buffer: None,
            sendfile,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut buffer = self.buffer.take().unwrap_or_else(buffers::take);
        while let Some(piece) = self.pieces.front_mut() {
            if buffer.is_full() {
                break;
            }
            match piece {
                Piece::Text(text) => {
                    let n = buffer.put(text);
                    text.drain(..n);
                }
                Piece::Part { offset, len } => {
                    let spare = buffer.spare();
                    let most = usize::try_from(*len).map_or(spare.len(), |l| l.min(spare.len()));
                    let n = match self.file.read_at(&mut spare[..most], *offset) {
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                        result => result?,
                    };
                    if n == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    buffer.filled(n);
                    *offset += n as u64;
                    *len -= n as u64;
                }
            }
            if piece.len() == 0 {
                self.pieces.pop_front();
            }
        }
        self.buffer = Some(buffer);
        Ok(())
    }
}

impl Source for FileBody {
    fn poll_fill(&mut self, _: &mut Context<'_>) -> Poll<Result<bool, Fault>> {
        if self.left == 0 {
            return Poll::Ready(Ok(false));
        }
        if self.data().is_empty()
            && let Err(e) = self.fill()
        {
            let text = "the file became shorter or could not be read while it was sent";
            let fault = Fault::new(Origin::Own, Phase::ResponseBody, Kind::Broken, text);
            return Poll::Ready(Err(fault.with_os(&e)));
        }
        Poll::Ready(Ok(true))
    }

    fn data(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], Buf::data)
    }

    fn consume(&mut self, n: usize) {
        let n = n.min(self.data().len());
        self.left -= n as u64;
        if let Some(buffer) = &mut self.buffer {
            buffer.consume(n);
            if buffer.is_empty() {
                // Back to the pool: a slow client holds none while it takes nothing.
                self.buffer = None;
            }
        }
    }

    fn length(&self) -> Length {
        Length::Exact(self.left)
    }

    fn raw(&self) -> Option<Raw> {
        match self.pieces.front() {
            Some(Piece::Part { offset, len }) if self.sendfile && self.data().is_empty() => {
                Some(Raw {
                    fd: self.file.as_raw_fd(),
                    remaining: *len,
                    offset: Some(*offset),
                })
            }
            _ => None,
        }
    }

    fn took_raw(&mut self, n: u64, _: bool) {
        if let Some(Piece::Part { offset, len }) = self.pieces.front_mut() {
            let n = n.min(*len);
            *offset += n;
            *len -= n;
            self.left -= n;
            if *len == 0 {
                self.pieces.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::task::Waker;

    fn file(bytes: &[u8]) -> File {
        let path = std::env::temp_dir().join(format!(
            "muster-body-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn fill(body: &mut FileBody) -> Result<bool, Fault> {
        match body.poll_fill(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => panic!("files are always ready"),
        }
    }

    fn all(body: &mut FileBody, step: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while fill(body).unwrap() {
            let n = body.data().len().min(step);
            out.extend_from_slice(&body.data()[..n]);
            body.consume(n);
        }
        assert_eq!(body.length(), Length::Exact(0));
        out
    }

    fn part(offset: u64, len: u64) -> Piece {
        Piece::Part { offset, len }
    }

    #[test]
    fn pieces_come_in_order() {
        let bytes: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
        let pieces = [
            part(5, 0),
            part(10, 70_000),
            Piece::Text(b"between".to_vec()),
            Piece::Text(Vec::new()),
            part(99_990, 10),
        ];
        let expected = [&bytes[10..70_010], b"between", &bytes[99_990..]].concat();
        for step in [1000, 16_384, 100_000] {
            let mut body = FileBody::new(file(&bytes), pieces.clone(), true);
            assert_eq!(body.length(), Length::Exact(70_017));
            assert_eq!(all(&mut body, step), expected);
        }
    }

    #[test]
    fn the_descriptor_stands_for_the_next_bytes() {
        let mut body = FileBody::new(
            file(b"0123456789"),
            [part(2, 5), Piece::Text(b"x".into())],
            true,
        );
        let raw = body.raw().unwrap();
        assert_eq!((raw.remaining, raw.offset), (5, Some(2)));
        body.took_raw(2, false);
        assert_eq!(body.raw().unwrap().offset, Some(4));
        assert_eq!(body.length(), Length::Exact(4));
        body.took_raw(3, false);
        assert!(body.raw().is_none());
        assert_eq!(all(&mut body, 10), b"x");
        let body = FileBody::new(file(b"0"), [part(0, 1)], false);
        assert!(body.raw().is_none());
    }

    #[test]
    fn a_file_that_shrank_is_an_error() {
        let mut body = FileBody::new(file(b"0123456789"), [part(0, 20)], false);
        assert!(
            fill(&mut body).is_err() || {
                body.consume(10);
                fill(&mut body).is_err()
            }
        );
        assert_ne!(body.length(), Length::Exact(0));
    }
}
