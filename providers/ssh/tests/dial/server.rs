//! An SSH server in this process that behaves, or misbehaves, as it is told.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use russh::{
    Channel, ChannelOpenFailure, MethodKind, MethodSet,
    keys::{Certificate, PrivateKey, PublicKey},
    server::{self, Auth, ChannelOpenHandle, Handler, Msg, Session, VerifiedPublicKey},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::watch,
};

/// How the server answers.
#[derive(Clone, Default)]
pub(crate) struct Manners {
    /// Users' keys that are let in.
    pub(crate) users: Vec<PublicKey>,
    /// The host's own keys and certificates.
    pub(crate) keys: Vec<PrivateKey>,
    pub(crate) certificates: Vec<Certificate>,
    /// What is preferred; all that the library has where none is given.
    pub(crate) preferred: Option<russh::Preferred>,
    pub(crate) auth: OnAuth,
    pub(crate) channel: OnChannel,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnAuth {
    #[default]
    Judge,
    Hang,
    AskForMore,
    Drop,
}

#[derive(Clone, Default)]
pub(crate) enum OnChannel {
    /// Sends back what comes.
    #[default]
    Echo,
    /// Sends without end, whether or not it is read.
    Flood,
    Hang,
    Refuse(ChannelOpenFailure),
    Drop,
}

/// A running server. It ends when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Seen,
    task: tokio::task::JoinHandle<()>,
}

/// What it has seen so far.
#[derive(Clone)]
pub(crate) struct Seen(Arc<watch::Sender<Counts>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) connections: usize,
    pub(crate) auths: usize,
    pub(crate) opens: usize,
    pub(crate) closes: usize,
    pub(crate) ends: usize,
    /// The algorithms that users' keys signed with, in their order.
    pub(crate) signed_with: Vec<String>,
}

impl Seen {
    fn count(&self, change: impl FnOnce(&mut Counts)) {
        self.0.send_modify(change);
    }

    pub(crate) fn now(&self) -> Counts {
        self.0.borrow().clone()
    }

    /// Waits until it has seen enough; fails after ten seconds of real time.
    pub(crate) async fn until(&self, enough: impl FnMut(&Counts) -> bool) {
        let mut seen = self.0.subscribe();
        let waiting = seen.wait_for(enough);
        if tokio::time::timeout(Duration::from_secs(10), waiting).await.is_err() {
            panic!("the server has seen no more than {:?}", self.now());
        }
    }
}

impl Server {
    pub(crate) async fn start(manners: Manners) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Seen(Arc::new(watch::Sender::new(Counts::default())));
        let task = tokio::spawn(accept(listener, manners, seen.clone()));
        Self { address, seen, task }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, manners: Manners, seen: Seen) {
    let config = Arc::new(server::Config {
        keys: manners.keys.clone(),
        certificates: manners.certificates.clone(),
        methods: MethodSet::from(&[MethodKind::PublicKey][..]),
        preferred: manners.preferred.clone().unwrap_or_default(),
        auth_rejection_time: Duration::ZERO,
        inactivity_timeout: None,
        ..server::Config::default()
    });
    let manners = Arc::new(manners);
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        seen.count(|counts| counts.connections += 1);
        let (config, seen) = (Arc::clone(&config), seen.clone());
        let host = Host { manners: Arc::clone(&manners), seen: seen.clone(), held: Mutex::default() };
        tokio::spawn(async move {
            if let Ok(session) = server::run_stream(config, stream, host).await {
                let _ = session.await;
            }
            seen.count(|counts| counts.ends += 1);
        });
    }
}

struct Host {
    manners: Arc<Manners>,
    seen: Seen,
    /// Answers that are held, so that none is given.
    held: Mutex<Vec<ChannelOpenHandle>>,
}

impl Handler for Host {
    type Error = russh::Error;

    async fn auth_publickey(&mut self, _: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        let algorithm = key.algorithm.to_string();
        self.seen.count(|counts| {
            counts.auths += 1;
            counts.signed_with.push(algorithm);
        });
        Ok(match self.manners.auth {
            OnAuth::Judge
                if self.manners.users.iter().any(|user| user.key_data() == key.public_key.key_data()) =>
            {
                Auth::Accept
            }
            OnAuth::Judge => Auth::reject(),
            OnAuth::Hang => std::future::pending().await,
            OnAuth::AskForMore => {
                let methods = MethodSet::from(&[MethodKind::KeyboardInteractive][..]);
                Auth::Reject { proceed_with_methods: Some(methods), partial_success: true }
            }
            OnAuth::Drop => return Err(russh::Error::Disconnect),
        })
    }

    async fn channel_open_direct_streamlocal(
        &mut self,
        channel: Channel<Msg>,
        _: &str,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        self.seen.count(|counts| counts.opens += 1);
        let seen = self.seen.clone();
        match &self.manners.channel {
            OnChannel::Echo => {
                reply.accept().await;
                tokio::spawn(async move {
                    let (mut read, mut write) = tokio::io::split(channel.into_stream());
                    let _ = tokio::io::copy(&mut read, &mut write).await;
                    let _ = write.shutdown().await;
                    seen.count(|counts| counts.closes += 1);
                });
            }
            OnChannel::Flood => {
                reply.accept().await;
                tokio::spawn(async move {
                    let mut stream = channel.into_stream();
                    while stream.write_all(&[7; 16 << 10]).await.is_ok() {}
                    let _ = stream.read(&mut [0]).await;
                    seen.count(|counts| counts.closes += 1);
                });
            }
            OnChannel::Hang => self.held.lock().unwrap().push(reply),
            OnChannel::Refuse(why) => reply.reject(why.clone()).await,
            OnChannel::Drop => return Err(russh::Error::Disconnect),
        }
        Ok(())
    }
}
