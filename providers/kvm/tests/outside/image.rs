//! A server of one image, on loopback, for as long as the process lives. It gives the same bytes under every path.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    thread,
};

/// An image that is served.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// By whom.
    pub(crate) at: SocketAddr,
    /// The sum of its bytes.
    pub(crate) sha256: String,
}

/// Serves a file.
///
/// # Errors
/// When it cannot be read, or no port can be had.
pub(crate) fn serve(file: &Path) -> io::Result<Served> {
    let sha256 = sum(file)?;
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let at = listener.local_addr()?;
    let file = PathBuf::from(file);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let file = file.clone();
            // A client that goes away, killed for one, ends its answer and nothing else.
            thread::spawn(move || answer(stream?, &file));
        }
    });
    Ok(Served { at, sha256 })
}

fn sum(file: &Path) -> io::Result<String> {
    let output = Command::new("sha256sum").arg(file).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let sum = said.split(' ').next().filter(|sum| sum.len() == 64);
    let why = || io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    Ok(sum.ok_or_else(why)?.to_owned())
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
