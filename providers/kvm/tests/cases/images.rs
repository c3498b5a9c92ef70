//! A server of images on a socket of the file system, which serves them well or in one of the ways that servers have.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream},
    sync::watch,
    task::JoinHandle,
};

/// What a guest sees of the image.
pub(crate) const CAPACITY: u64 = 2 << 30;

/// How an image is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Serves {
    Whole,
    /// Whole, in chunks, with no length beforehand.
    WithoutLength,
    /// Only its first half, and then no more: the connection ends.
    Half,
    /// As many bytes, and others.
    OtherBytes,
    /// Not at all.
    Status(u16),
    /// Its first half, and then nothing, on a connection that stands.
    Stalls,
    /// Its first half, and the rest when it is let come.
    Waits,
    /// So many bytes of nothing after it.
    Padded(usize),
    /// From elsewhere.
    SendsOn(String),
    /// Another image, of these bytes.
    Bytes(Vec<u8>),
    /// With a size of so many bytes, whatever comes.
    Says(u64),
    /// In chunks, with no length beforehand, for ever.
    Endless,
}

/// A server. It ends when it is dropped.
pub(crate) struct Images {
    pub(crate) socket: PathBuf,
    shared: Arc<Mutex<Shared>>,
    comes: watch::Sender<bool>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    serves: BTreeMap<String, Serves>,
    asked: Vec<String>,
    sent: usize,
}

impl Images {
    pub(crate) async fn start(socket: PathBuf) -> Self {
        let listener = UnixListener::bind(&socket).unwrap();
        let shared = Arc::<Mutex<Shared>>::default();
        let comes = watch::Sender::new(false);
        let task = tokio::spawn(accept(listener, Arc::clone(&shared), comes.subscribe()));
        Self { socket, shared, comes, task }
    }

    fn open(&self) -> MutexGuard<'_, Shared> {
        open(&self.shared)
    }

    /// From now on an image is served so.
    pub(crate) fn serve(&self, path: &str, serves: Serves) {
        self.open().serves.insert(path.to_owned(), serves);
    }

    /// Lets the rest of what waits come.
    pub(crate) fn let_come(&self) {
        self.comes.send_replace(true);
    }

    /// How often an image was asked for, size aside.
    pub(crate) fn asked(&self, path: &str) -> usize {
        let line = format!("GET {path}");
        self.open().asked.iter().filter(|asked| **asked == line).count()
    }

    /// How many bytes of images have gone out.
    pub(crate) fn sent(&self) -> usize {
        self.open().sent
    }

    pub(crate) fn sha256(&self) -> String {
        HEXLOWER.encode(&Sha256::digest(bytes()))
    }
}

impl Drop for Images {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn open(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every image: an empty disk as QEMU lays it out.
pub(crate) fn bytes() -> Vec<u8> {
    let mut bytes = vec![0; 64 << 10];
    bytes[..4].copy_from_slice(b"QFI\xfb");
    bytes[4..8].copy_from_slice(&3_u32.to_be_bytes());
    bytes[20..24].copy_from_slice(&16_u32.to_be_bytes());
    bytes[24..32].copy_from_slice(&CAPACITY.to_be_bytes());
    bytes[100..104].copy_from_slice(&104_u32.to_be_bytes());
    bytes
}

async fn accept(listener: UnixListener, shared: Arc<Mutex<Shared>>, comes: watch::Receiver<bool>) {
    while let Ok((client, _)) = listener.accept().await {
        let (shared, comes) = (Arc::clone(&shared), comes.clone());
        tokio::spawn(async move { converse(client, &shared, comes).await });
    }
}

/// One request for each connection.
async fn converse(
    client: UnixStream,
    shared: &Mutex<Shared>,
    mut comes: watch::Receiver<bool>,
) -> Option<()> {
    let (read, mut write) = client.into_split();
    let mut lines = BufReader::new(read).lines();
    let first = lines.next_line().await.ok()??;
    while !lines.next_line().await.ok()??.is_empty() {}
    let (method, rest) = first.split_once(' ')?;
    let path = rest.split_once(' ')?.0;
    let serves = {
        let mut shared = open(shared);
        shared.asked.push(format!("{method} {path}"));
        shared.serves.get(path).cloned().unwrap_or(Serves::Whole)
    };
    let all = bytes();
    let (status, length, body) = match &serves {
        Serves::Whole | Serves::WithoutLength => (200, all.len(), all),
        Serves::Half | Serves::Stalls | Serves::Waits => (200, all.len(), all[..all.len() / 2].to_vec()),
        Serves::OtherBytes => (200, all.len(), vec![7; all.len()]),
        Serves::Status(status) => (*status, 0, Vec::new()),
        Serves::Padded(more) => (200, all.len() + more, [all, vec![0; *more]].concat()),
        Serves::SendsOn(_) => (302, 0, Vec::new()),
        Serves::Bytes(bytes) => (200, bytes.len(), bytes.clone()),
        Serves::Says(_) => (200, 0, all),
        Serves::Endless => (200, 0, [all, vec![0; 1 << 20]].concat()),
    };
    let mut head = format!("HTTP/1.1 {status} So\r\nConnection: close\r\n");
    match &serves {
        Serves::WithoutLength | Serves::Endless => head.push_str("Transfer-Encoding: chunked\r\n"),
        Serves::Says(length) => head.push_str(&format!("Content-Length: {length}\r\n")),
        Serves::SendsOn(to) => head.push_str(&format!("Location: {to}\r\nContent-Length: 0\r\n")),
        _ => head.push_str(&format!("Content-Length: {length}\r\n")),
    }
    head.push_str("\r\n");
    write.write_all(head.as_bytes()).await.ok()?;
    if method == "HEAD" {
        return Some(());
    }
    let times = if serves == Serves::Endless { usize::MAX } else { 1 };
    for piece in body.chunks(16 << 10).cycle().take(body.len().div_ceil(16 << 10).saturating_mul(times)) {
        let piece = match serves {
            Serves::WithoutLength | Serves::Endless => {
                [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
            }
            _ => piece.to_vec(),
        };
        write.write_all(&piece).await.ok()?;
        open(shared).sent += piece.len();
    }
    match serves {
        Serves::WithoutLength => write.write_all(b"0\r\n\r\n").await.ok(),
        Serves::Stalls => std::future::pending().await,
        Serves::Waits => {
            comes.wait_for(|comes| *comes).await.ok()?;
            let all = bytes();
            write.write_all(&all[all.len() / 2..]).await.ok()
        }
        _ => Some(()),
    }
}
