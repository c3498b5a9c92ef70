//! Requests through a proxy, and the server that they go to. Both speak just enough HTTP/1.1 to tell who was let in.

use std::net::{IpAddr, SocketAddr};

use data_encoding::BASE64;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};

/// What the server answers to everything.
pub(crate) const GREETING: &str = "hello from the far end";

/// Starts a server that ends with its test.
pub(crate) async fn serve(address: IpAddr, port: u16) -> SocketAddr {
    let listener = TcpListener::bind((address, port)).await.unwrap();
    let bound = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                let length = GREETING.len();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{GREETING}"
                );
                // A client that has gone away is judged by what it saw.
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    bound
}

/// A user of one proxy.
pub(crate) struct User {
    pub(crate) proxy: SocketAddr,
    pub(crate) login: Option<(&'static str, &'static str)>,
    /// The address that the proxy sees; the route's own when left out.
    pub(crate) from: Option<IpAddr>,
}

impl User {
    /// Asks for a page; the status and the whole answer.
    pub(crate) async fn get(&self, url: &str) -> (u16, String) {
        let mut stream = self.connect().await;
        let request =
            format!("GET {url} HTTP/1.1\r\nHost: far\r\nConnection: close\r\n{}\r\n", self.authorization());
        stream.write_all(request.as_bytes()).await.unwrap();
        read(&mut stream).await
    }

    /// Asks for a tunnel, and for a page through it where there is one; the tunnel's status, and what came through.
    pub(crate) async fn tunnel(&self, to: SocketAddr) -> (u16, String) {
        let mut stream = self.connect().await;
        let request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{}\r\n", self.authorization());
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            assert!(stream.read_buf(&mut head).await.unwrap() > 0, "the proxy closed without an answer");
        }
        let status = status(&String::from_utf8_lossy(&head));
        if status != 200 {
            return (status, String::new());
        }
        stream.write_all(b"GET / HTTP/1.1\r\nHost: far\r\n\r\n").await.unwrap();
        (status, read(&mut stream).await.1)
    }

    async fn connect(&self) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        if let Some(from) = self.from {
            socket.bind((from, 0).into()).unwrap();
        }
        socket.connect(self.proxy).await.unwrap()
    }

    fn authorization(&self) -> String {
        let header = |(name, password): (&str, &str)| {
            let login = BASE64.encode(format!("{name}:{password}").as_bytes());
            format!("Proxy-Authorization: Basic {login}\r\n")
        };
        self.login.map(header).unwrap_or_default()
    }
}

async fn read(stream: &mut TcpStream) -> (u16, String) {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (status(&answer), answer)
}

fn status(answer: &str) -> u16 {
    let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    code.unwrap_or_else(|| panic!("this is no HTTP answer: {answer:?}"))
}
