//! Sockets that a fake is reached on: unix sockets, and loopback TCP in clear or under TLS. What is spoken on them is
//! the business of `http` and `socket`.

use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use super::Tls;
use crate::ledger::Ledger;

/// Where a fake is to be reached. Each case has a listener of its own.
#[derive(Clone, Debug)]
pub enum On {
    /// A unix socket at that path, best in the case's folder. The fastest, where the client can.
    Unix(PathBuf),
    /// A free port of 127.0.0.1. Closing a connection resets it, so that thousands of cases leave no sockets waiting.
    Tcp,
    /// As [`On::Tcp`], under TLS.
    Tls(Tls),
}

/// A fake on a socket. Dropping it closes the socket and every connection; a backend keeps it for as long as its case.
pub struct Serving {
    on: On,
    address: Option<SocketAddr>,
    hold: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

/// A connection, whatever it is made of.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}
pub(crate) type Connection = Box<dyn Stream>;

/// Speaks with one client until it goes or is cut off.
pub(crate) type Converse = Arc<dyn Fn(Connection) -> BoxFuture<'static, ()> + Send + Sync>;

impl Serving {
    pub(crate) fn open(on: On, ledger: Ledger, protocols: &[&str], converse: Converse) -> io::Result<Self> {
        let (listener, address) = match &on {
            On::Unix(path) => (Listener::Unix(UnixListener::bind(path)?), None),
            On::Tcp | On::Tls(_) => {
                let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                listener.set_nonblocking(true)?;
                let listener = TcpListener::from_std(listener)?;
                let address = listener.local_addr()?;
                (Listener::Tcp(listener), Some(address))
            }
        };
        let acceptor = match &on {
            On::Tls(tls) => Some(TlsAcceptor::from(tls.server(protocols)?)),
            On::Unix(_) | On::Tcp => None,
        };
        let hold = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(accept(listener, acceptor, ledger, Arc::clone(&hold), converse));
        Ok(Self { on, address, hold, task })
    }

    /// The address, with the port that was free; `None` for a unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The path of a unix socket; `None` for anything else.
    pub fn path(&self) -> Option<&Path> {
        match &self.on {
            On::Unix(path) => Some(path),
            On::Tcp | On::Tls(_) => None,
        }
    }

    /// The address as an HTTP client is given it: `http://127.0.0.1:40001`, or `https://localhost:40001` under TLS. A
    /// client of a unix socket takes `http://localhost` and the path beside it.
    pub fn url(&self) -> String {
        match (&self.on, self.address) {
            (On::Tls(_), Some(address)) => format!("https://localhost:{}", address.port()),
            (_, Some(address)) => format!("http://{address}"),
            (_, None) => "http://localhost".to_owned(),
        }
    }

    /// Holds every further dial: the connection is accepted, and nothing is ever said on it. The ledger counts it until
    /// the client gives up. `false` lets later dials through again.
    pub fn hold_dials(&self, hold: bool) {
        self.hold.store(hold, Ordering::Release);
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
        if let On::Unix(path) = &self.on {
            // The case's folder goes anyway; a path elsewhere should not be left behind.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("url", &self.url()).field("path", &self.path()).finish()
    }
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

enum Accepted {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Listener {
    async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Unix(listener) => listener.accept().await.map(|(stream, _)| Accepted::Unix(stream)),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                // Closing resets: thousands of short cases must not leave sockets in TIME_WAIT.
                stream.set_zero_linger()?;
                Ok(Accepted::Tcp(stream))
            }
        }
    }
}

async fn accept(
    listener: Listener,
    acceptor: Option<TlsAcceptor>,
    ledger: Ledger,
    hold: Arc<AtomicBool>,
    converse: Converse,
) {
    let mut connections = JoinSet::new();
    loop {
        // Finished connections are cleared away, so that the set does not grow.
        while connections.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok(stream) => stream,
            Err(error) => {
                tracing::debug!(%error, "a connection could not be accepted");
                tokio::task::yield_now().await;
                continue;
            }
        };
        let held = hold.load(Ordering::Acquire).then(|| ledger.park_dial());
        let (acceptor, converse) = (acceptor.clone(), Arc::clone(&converse));
        connections.spawn(async move {
            match (held, stream, acceptor) {
                (Some(held), Accepted::Unix(stream), _) => until_left(stream, held).await,
                (Some(held), Accepted::Tcp(stream), _) => until_left(stream, held).await,
                (None, Accepted::Unix(stream), _) => converse(Box::new(stream)).await,
                (None, Accepted::Tcp(stream), None) => converse(Box::new(stream)).await,
                (None, Accepted::Tcp(stream), Some(acceptor)) => match acceptor.accept(stream).await {
                    Ok(stream) => converse(Box::new(stream)).await,
                    Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
                },
            }
        });
    }
}

/// Reads what a client says to nobody, until it gives up; then its dial no longer counts.
async fn until_left(mut stream: impl Stream, held: crate::ledger::ParkedDial) {
    let mut unread = [0; 1024];
    while stream.read(&mut unread).await.is_ok_and(|count| count > 0) {}
    drop(held);
}
