//! One stream of bytes to a socket on the host, and back.

use std::{
    fmt, io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use russh::{ChannelStream, client::Msg};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    runtime::Handle,
};

use crate::Session;

/// A stream to a unix socket on the host.
///
/// # Guarantees
/// Dropping it closes it on the host, from any thread. It keeps its session: that ends when the last of both is dropped,
/// or when it is closed or cut. Reading tells the two ends apart: end of file when the other side closed the stream, an
/// error when the session ended.
///
/// # Caveats
/// A channel that is kept and not read stalls its whole session once some hundred messages wait in it: read it, or drop
/// it.
pub struct Channel {
    stream: Stream,
    session: Session,
}

/// A stream that closes itself on the host, wherever it is dropped.
pub(crate) struct Stream {
    /// There until it is dropped.
    stream: Option<ChannelStream<Msg>>,
    /// Where it was opened; its closing is a task there.
    runtime: Handle,
}

impl Stream {
    pub(crate) fn new(channel: russh::Channel<Msg>, runtime: Handle) -> Self {
        Self { stream: Some(channel.into_stream()), runtime }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _entered = self.runtime.enter();
        drop(self.stream.take());
    }
}

impl Channel {
    pub(crate) fn new(stream: Stream, session: Session) -> Self {
        Self { stream, session }
    }

    /// The session that it belongs to.
    pub fn session(&self) -> &Session {
        &self.session
    }

    fn stream(&mut self) -> Pin<&mut ChannelStream<Msg>> {
        Pin::new(self.stream.stream.as_mut().expect("it is taken only when the channel is dropped"))
    }

    fn broken(&self) -> Option<io::Error> {
        self.session.ended().map(|why| io::Error::new(io::ErrorKind::ConnectionReset, &*why))
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("session", &self.session).finish_non_exhaustive()
    }
}

impl AsyncRead for Channel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = ready!(self.stream().poll_read(cx, buf));
        let nothing = buf.filled().len() == before && buf.remaining() > 0;
        Poll::Ready(match (read, nothing.then(|| self.broken()).flatten()) {
            (Ok(()), Some(broken)) => Err(broken),
            (read, _) => read,
        })
    }
}

impl AsyncWrite for Channel {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        // The protocol has no empty message.
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let wrote = ready!(self.stream().poll_write(cx, buf));
        Poll::Ready(wrote.map_err(|error| self.broken().unwrap_or(error)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    /// Says that nothing more will come; the other direction stays open.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }
}
