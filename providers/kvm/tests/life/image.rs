//! The image to boot: a URL, or a file that is served on loopback for as long as the test lives.

use std::{
    env,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    thread,
};

use crate::host::offered;

const URL: &str = "KVM_TEST_IMAGE_URL";
const SHA256: &str = "KVM_TEST_IMAGE_SHA256";
const FILE: &str = "KVM_TEST_IMAGE_FILE";

/// Where the provider finds an image, and the sum of its bytes where that is known.
#[derive(Clone)]
pub(crate) struct Image {
    pub(crate) url: String,
    pub(crate) sha256: Option<String>,
}

impl Image {
    /// The one of a URL, or else of a file.
    pub(crate) fn offered() -> Self {
        if let Ok(url) = env::var(URL) {
            return Self { url, sha256: env::var(SHA256).ok() };
        }
        static SERVED: OnceLock<Image> = OnceLock::new();
        SERVED.get_or_init(|| serve(PathBuf::from(offered(FILE)))).clone()
    }

    /// Offers the same image to a child, whoever serves it.
    pub(crate) fn give<'c>(&self, child: &'c mut Command) -> &'c mut Command {
        if let Some(sum) = &self.sha256 {
            child.env(SHA256, sum);
        }
        child.env(URL, &self.url)
    }
}

fn serve(file: PathBuf) -> Image {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/guest.qcow2", listener.local_addr().unwrap());
    let sum = Command::new("sha256sum").arg(&file).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    let sha256 = sum.split(' ').next().filter(|sum| sum.len() == 64).map(str::to_owned);
    assert!(sha256.is_some(), "sha256sum says {sum:?} of {}", file.display());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let file = file.clone();
            // A client that goes away, killed for one, ends its answer and nothing else.
            thread::spawn(move || answer(stream?, &file));
        }
    });
    Image { url, sha256 }
}

fn answer(mut stream: TcpStream, file: &Path) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")?;
    if request.starts_with("GET ") {
        io::copy(&mut file, &mut stream)?;
    }
    Ok(())
}
