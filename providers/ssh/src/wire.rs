//! The TCP connection under a session, which can be cut from outside, at once and for good, whatever the protocol above
//! it waits for. It also hears what the protocol does not tell: bytes before the greeting, whether anything still comes,
//! and why it ended.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::watch,
};

/// The part of a connection that outsiders hold.
pub(crate) struct Wire {
    inner: Mutex<Inner>,
    received: AtomicU64,
    ended: watch::Sender<Option<Arc<str>>>,
}

struct Inner {
    stream: Option<TcpStream>,
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// What came before the greeting, while there was none.
    before_greeting: Vec<u8>,
    greeted: bool,
    /// The code of the message with which the host ended the connection.
    goodbye: Option<u32>,
}

/// More than that before a greeting is not listened to.
const BEFORE_GREETING: usize = 512;

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> Arc<Self> {
        let inner = Inner {
            stream: Some(stream),
            reader: None,
            writer: None,
            before_greeting: Vec::new(),
            greeted: false,
            goodbye: None,
        };
        Arc::new(Self {
            inner: Mutex::new(inner),
            received: AtomicU64::new(0),
            ended: watch::Sender::new(None),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection now. The first reason given stays.
    pub(crate) fn cut(&self, why: &str) {
        self.end(why);
        let mut inner = self.lock();
        let (stream, wakers) = (inner.stream.take(), [inner.reader.take(), inner.writer.take()]);
        drop(inner);
        drop(stream);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// Notes why it ends, unless that is known.
    pub(crate) fn end(&self, why: &str) {
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            if first {
                *ended = Some(why.into());
            }
            first
        });
    }

    /// Notes the host's own goodbye.
    pub(crate) fn say_goodbye(&self, code: u32, why: &str) {
        self.lock().goodbye = Some(code);
        self.end(why);
    }

    pub(crate) fn goodbye(&self) -> Option<u32> {
        self.lock().goodbye
    }

    /// Why it ended; none while it lives.
    pub(crate) fn ended(&self) -> Option<Arc<str>> {
        self.ended.borrow().clone()
    }

    /// Waits for its end.
    pub(crate) fn wait_for_end(&self) -> impl Future<Output = Arc<str>> + Send + 'static {
        let mut ended = self.ended.subscribe();
        async move {
            match ended.wait_for(Option::is_some).await {
                Ok(why) => why.clone().unwrap_or_else(|| "".into()),
                // The wire is gone, and was dropped without a word.
                Err(_) => "the connection was given up".into(),
            }
        }
    }

    /// How many bytes have come so far.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Whether the host has greeted, and what it said before.
    pub(crate) fn greeting(&self) -> (bool, String) {
        let inner = self.lock();
        let said = String::from_utf8_lossy(&inner.before_greeting);
        let said = said.lines().take_while(|line| !line.starts_with("SSH-")).collect::<Vec<_>>().join(" ");
        (inner.greeted, plain(&said))
    }
}

/// Somebody else's words, without what would disturb a log line.
pub(crate) fn plain(text: &str) -> String {
    let text: String =
        text.chars().map(|char| if char.is_control() { ' ' } else { char }).take(200).collect();
    text.trim().to_owned()
}

/// The part of a connection that the protocol reads and writes.
pub(crate) struct End(pub(crate) Arc<Wire>);

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the connection was cut")
}

impl AsyncRead for End {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.0.lock();
        let Some(stream) = &mut inner.stream else { return Poll::Ready(Err(cut())) };
        let before = buf.filled().len();
        let poll = Pin::new(stream).poll_read(cx, buf);
        match &poll {
            Poll::Pending => inner.reader = Some(cx.waker().clone()),
            Poll::Ready(Ok(())) => {
                let new = &buf.filled()[before..];
                self.0.received.fetch_add(new.len() as u64, Ordering::Relaxed);
                if !inner.greeted {
                    inner.hear(new);
                }
            }
            Poll::Ready(Err(_)) => {}
        }
        poll
    }
}

impl Inner {
    fn hear(&mut self, new: &[u8]) {
        let room = BEFORE_GREETING.saturating_sub(self.before_greeting.len());
        self.before_greeting.extend_from_slice(&new[..new.len().min(room)]);
        let mut lines = self.before_greeting.split(|byte| *byte == b'\n');
        self.greeted = lines.any(|line| line.starts_with(b"SSH-")) || room == 0;
    }
}

impl AsyncWrite for End {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let mut inner = self.0.lock();
        let Some(stream) = &mut inner.stream else { return Poll::Ready(Err(cut())) };
        let poll = Pin::new(stream).poll_write(cx, buf);
        if poll.is_pending() {
            inner.writer = Some(cx.waker().clone());
        }
        poll
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.0.lock();
        match &mut inner.stream {
            Some(stream) => Pin::new(stream).poll_flush(cx),
            None => Poll::Ready(Err(cut())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.0.lock();
        match &mut inner.stream {
            Some(stream) => Pin::new(stream).poll_shutdown(cx),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl Drop for End {
    /// The protocol is done, well or in a panic.
    fn drop(&mut self) {
        self.0.cut("the connection ended");
    }
}
