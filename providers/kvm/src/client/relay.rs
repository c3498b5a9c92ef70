//! The relay: a unix socket for the C library at one end, the way to the daemon at the other. It is how a call that hangs
//! is ended: closing the library's end makes its call return at once, on whatever thread it is.

use std::{
    any::Any,
    fmt, io,
    net::Shutdown,
    os::{fd::AsFd as _, unix::net::UnixStream as StdUnixStream},
    path::{Path, PathBuf},
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use futures::{
    channel::oneshot,
    future::{Either, select},
};
use provider_api::{CallId, Spawner};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, Interest, split},
    net::{UnixListener, UnixStream},
};

use super::{numbered::Numbered, raw};

/// A stream to a daemon, whatever it goes over.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + Any {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin + Any> Stream for S {}

/// A relay. Dropping it cuts it.
pub(super) struct Relay {
    path: PathBuf,
    shared: Arc<Shared>,
}

struct Shared {
    end: Mutex<End>,
    /// Whether either side is gone. The library says that it is well until a call of its fails, so this is what is asked.
    broken: AtomicBool,
    /// The call that is under way, for a test's ledger; 0 is none.
    call: AtomicU64,
}

/// The library's end.
enum End {
    /// Not there yet. Whoever drops the sender closes the socket that it would come to.
    Awaited {
        _stop: oneshot::Sender<()>,
    },
    /// A handle of the same connection, on which it can be shut from any thread.
    Here(StdUnixStream),
    Cut,
}

/// As much as is taken from one side before it is given to the other.
const PIECE: usize = 512 << 10;

/// As much as a pipe holds that nobody has widened.
const NARROW: usize = 64 << 10;

impl Relay {
    /// Opens a socket for the library in `folder`, from within the runtime. `numbered`: whether a test's ledger wants
    /// the calls' ids on the wire.
    pub(super) fn open(
        folder: &Path,
        number: u64,
        to: Box<dyn Stream>,
        spawner: &dyn Spawner,
        numbered: bool,
    ) -> io::Result<Self> {
        let path = folder.join(number.to_string());
        let listener = UnixListener::bind(&path)?;
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::new(Shared {
            end: Mutex::new(End::Awaited { _stop: stop }),
            broken: AtomicBool::new(false),
            call: AtomicU64::new(0),
        });
        let (ours, socket) = (Arc::clone(&shared), path.clone());
        spawner.spawn(Box::pin(async move {
            let _over = Over(&ours);
            let accepted = {
                let accepting = pin!(listener.accept());
                match select(accepting, stopped).await {
                    Either::Left((accepted, _)) => accepted,
                    Either::Right(_) => Err(io::ErrorKind::Interrupted.into()),
                }
            };
            // Nobody else is to come in. On the way out it also frees a library that waits to be let in.
            drop(listener);
            let _ = std::fs::remove_file(&socket);
            let Ok((library, _)) = accepted else { return };
            let Ok(library) = ours.let_in(library) else { return };
            carry(&ours, library, to, numbered).await;
        }));
        Ok(Self { path, shared })
    }

    /// Where the library connects to.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a connection over it is known to be dead.
    pub(super) fn is_broken(&self) -> bool {
        self.shared.broken.load(Ordering::Acquire)
    }

    /// Cuts it, from any thread and without waiting: every call on it returns at once, with an error.
    pub(super) fn cut(&self) {
        self.shared.cut();
    }

    /// Whose calls those are that the library makes from now on.
    pub(super) fn for_call(&self) -> ForCall {
        ForCall(Arc::clone(&self.shared))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.cut();
    }
}

/// Says whose calls follow.
pub(super) struct ForCall(Arc<Shared>);

impl ForCall {
    pub(super) fn set(&self, call: Option<CallId>) {
        self.0.call.store(call.map_or(0, |CallId(call)| call), Ordering::Release);
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cut(&self) {
        self.broken.store(true, Ordering::Release);
        if let End::Here(library) = std::mem::replace(&mut *self.open(), End::Cut) {
            // It may be closed already.
            let _ = library.shutdown(Shutdown::Both);
        }
    }

    /// Keeps a second handle of the library's connection, unless it was cut before it came.
    fn let_in(&self, library: UnixStream) -> io::Result<UnixStream> {
        let library = library.into_std()?;
        let second = library.try_clone()?;
        let mut end = self.open();
        if matches!(*end, End::Cut) {
            let _ = library.shutdown(Shutdown::Both);
            return Err(io::ErrorKind::Interrupted.into());
        }
        *end = End::Here(second);
        drop(end);
        UnixStream::from_std(library)
    }
}

/// Says that the relay's task has ended, however it did, and lets the library know.
struct Over<'s>(&'s Shared);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.cut();
    }
}

/// Carries bytes both ways until either side closes: the end of one direction is the end of both, for nothing is said on
/// half a connection.
async fn carry(shared: &Shared, library: UnixStream, to: Box<dyn Stream>, numbered: bool) {
    let local = as_socket(&*to);
    if let Some(daemon) = local.filter(|_| !numbered) {
        let (up, down) = (moved(&library, daemon, PIECE), moved(daemon, &library, NARROW));
        select(pin!(up), pin!(down)).await;
        return;
    }
    let (mut from_library, mut to_library) = library.into_split();
    let (mut from_daemon, mut to_daemon) = split(to);
    let numbers = Numbered::default();
    let call = || shared.call.load(Ordering::Acquire);
    let out = async {
        let mut rewritten = numbered.then(|| numbers.outward());
        pump(&mut from_library, &mut to_daemon, |bytes, passed| match &mut rewritten {
            Some(rewrite) => *passed = rewrite.pass(bytes, call()),
            None => std::mem::swap(bytes, passed),
        })
        .await
    };
    let back = async {
        let mut rewritten = numbered.then(|| numbers.homeward());
        pump(&mut from_daemon, &mut to_library, |bytes, passed| match &mut rewritten {
            Some(rewrite) => *passed = rewrite.pass(bytes, 0),
            None => std::mem::swap(bytes, passed),
        })
        .await
    };
    select(pin!(out), pin!(back)).await;
}

/// The socket of this machine that a stream is, if it is one.
fn as_socket(stream: &dyn Stream) -> Option<&UnixStream> {
    let stream: &dyn Any = stream;
    stream.downcast_ref()
}

/// Moves bytes from socket to socket within the kernel, until either closes. To copy them here, in and out again, is most of
/// what a relay costs.
async fn moved(from: &UnixStream, to: &UnixStream, width: usize) -> io::Result<()> {
    let (out_of, into) = io::pipe()?;
    if width > NARROW {
        // The system may have enough pipes already: then pieces are smaller.
        let _ = raw::widen(into.as_fd(), width);
    }
    loop {
        let taking = || raw::splice(from.as_fd(), into.as_fd(), width);
        let mut inside = from.async_io(Interest::READABLE, taking).await?;
        if inside == 0 {
            return Ok(());
        }
        // The pipe is empty whenever something is taken: only the socket can have nothing then.
        while inside > 0 {
            let giving = || raw::splice(out_of.as_fd(), to.as_fd(), inside);
            inside -= to.async_io(Interest::WRITABLE, giving).await?;
        }
    }
}

/// Reads, lets `pass` move what may go on to the second buffer, and writes that. Both are kept: new ones for each piece
/// would cost more than the bytes in them.
async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    mut pass: impl FnMut(&mut Vec<u8>, &mut Vec<u8>),
) {
    let (mut bytes, mut passed) = (Vec::new(), Vec::new());
    loop {
        bytes.reserve(PIECE);
        match from.read_buf(&mut bytes).await {
            Ok(count) if count > 0 => {}
            Ok(_) | Err(_) => return,
        }
        pass(&mut bytes, &mut passed);
        if !passed.is_empty() && (to.write_all(&passed).await.is_err() || to.flush().await.is_err()) {
            return;
        }
        passed.clear();
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("path", &self.path).field("broken", &self.is_broken()).finish()
    }
}
