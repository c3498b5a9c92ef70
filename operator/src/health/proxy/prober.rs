//! How a probe is made: a TCP connection to the proxy, and one HTTP request through it. No more of HTTP is spoken than that:
//! the request is fixed, and of the answer the status line counts.

use std::{io, net::SocketAddr};

use async_trait::async_trait;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{Fault, Prober};

/// The URL that is asked for through each proxy: `http://HOST[:PORT][/PATH]`. It should answer fast, and belong to somebody who
/// knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeUrl {
    url: String,
    host: String,
}

/// A text that is no URL for probes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no URL such as http://example.com/health; only http, without a user or a fragment, can be probed"
)]
pub struct BadUrl(String);

impl ProbeUrl {
    /// Accepts a URL.
    ///
    /// # Errors
    /// [`BadUrl`] when it is of another scheme, or could not stand in a request line as it is.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        let bad = || BadUrl(text.chars().take(80).collect());
        let rest = text.strip_prefix("http://").ok_or_else(bad)?;
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        if host.is_empty() || !is_plain || host.contains('@') || text.contains('#') || text.len() > 1000 {
            return Err(bad());
        }
        let has_path = rest.len() > host.len() && rest.as_bytes()[host.len()] == b'/';
        let query = &rest[host.len()..];
        let url = if has_path { text.to_owned() } else { format!("http://{host}/{query}") };
        Ok(Self { url, host: host.to_owned() })
    }

    /// The URL as it stands in requests.
    pub fn as_str(&self) -> &str {
        &self.url
    }
}

/// The prober of a program: TCP, and HTTP where there is a URL to ask for. It needs tokio's runtime with I/O.
///
/// An answer below 500 passes, since only a proxy that serves gives one. That is so for 407 and 403 too: the probe brings no
/// credentials, and may come from where others are refused.
#[derive(Clone, Debug)]
pub struct HttpProber {
    request: Option<Box<str>>,
}

/// How much of an answer is read: the status line is in the first of it.
const HEAD: usize = 1024;
/// How much of the rest is read, so that the other side closes first.
const DRAINED: usize = 64 << 10;

impl HttpProber {
    /// One that asks for that URL; without one a connection is all that is made.
    pub fn new(url: Option<&ProbeUrl>) -> Self {
        let request = url.map(|ProbeUrl { url, host }| {
            format!(
                "GET {url} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: proxy-operator\r\nAccept: */*\r\nConnection: close\r\n\r\n"
            )
        });
        Self { request: request.map(Into::into) }
    }

    async fn ask(&self, stream: &mut TcpStream) -> Result<(), Fault> {
        let Some(request) = &self.request else { return Ok(()) };
        let lost = |error: io::Error| fault("the connection was lost", &error);
        stream.write_all(request.as_bytes()).await.map_err(lost)?;
        let mut head = [0; HEAD];
        let mut length = 0;
        let status = loop {
            let read = stream.read(&mut head[length..]).await.map_err(lost)?;
            length += read;
            if let Some(end) = head[..length].iter().position(|byte| *byte == b'\n') {
                break status(&head[..end]);
            }
            if read == 0 || length == HEAD {
                let what = if length == 0 { "it closed without an answer" } else { "its answer is no HTTP" };
                return Err(Fault::Proxy(what.to_owned()));
            }
        };
        match status {
            None => return Err(Fault::Proxy("its answer is no HTTP".to_owned())),
            Some(status) if status >= 500 => return Err(Fault::Proxy(format!("it answers {status}"))),
            Some(_) => {}
        }
        // Whoever closes first keeps the port for a while, and there are not so many ports as probes in that time.
        let mut drained = 0;
        while drained < DRAINED {
            match stream.read(&mut head).await {
                Ok(0) | Err(_) => break,
                Ok(read) => drained += read,
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Prober for HttpProber {
    async fn probe(&self, endpoint: &str) -> Result<(), Fault> {
        let address: SocketAddr =
            endpoint.parse().map_err(|_| Fault::Proxy(format!("{endpoint:?} is no address and port")))?;
        let stream = TcpStream::connect(address).await;
        let mut stream = stream.map_err(|error| fault("no connection", &error))?;
        // Whatever ends the probe, also its drop, leaves no port behind that waits.
        stream.set_zero_linger().map_err(|error| fault("no connection", &error))?;
        self.ask(&mut stream).await
    }
}

/// The code of a status line such as `HTTP/1.1 200 OK`.
fn status(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line).ok()?;
    let rest = line.strip_prefix("HTTP/1.")?;
    let code = rest.get(1..)?.strip_prefix(' ')?.get(..3)?;
    let is_whole = rest.get(5..).is_some_and(|after| after.trim_end().is_empty() || after.starts_with(' '));
    code.parse().ok().filter(|code| is_whole && (100..600).contains(code))
}

/// Want of descriptors, buffers, ports or memory is ours. The numbers are Linux's: ENFILE, EMFILE, ENOBUFS.
fn fault(what: &str, error: &io::Error) -> Fault {
    let is_ours = matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::OutOfMemory)
        || matches!(error.raw_os_error(), Some(23 | 24 | 105));
    let text = format!("{what}: {error}");
    if is_ours { Fault::Here(text) } else { Fault::Proxy(text) }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread::JoinHandle,
    };

    use super::*;

    /// A proxy that answers one request with that text, and says what it was asked.
    fn answers(text: &'static str) -> (String, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = listener.local_addr().unwrap().to_string();
        let serves = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            let mut buffer = [0; 256];
            while !asked.ends_with(b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => asked.extend_from_slice(&buffer[..read]),
                }
            }
            let _ = stream.write_all(text.as_bytes());
            String::from_utf8(asked).unwrap()
        });
        (endpoint, serves)
    }

    fn probe(url: Option<&str>, endpoint: &str) -> Result<(), Fault> {
        let url = url.map(|url| ProbeUrl::parse(url).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(HttpProber::new(url.as_ref()).probe(endpoint))
    }

    const URL: Option<&str> = Some("http://probe.example:81/health?deep=1");

    #[test]
    fn a_request_goes_through_the_proxy_in_absolute_form() {
        let (endpoint, asked) = answers("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        assert_eq!(probe(URL, &endpoint), Ok(()));
        let asked = asked.join().unwrap();
        assert!(asked.starts_with("GET http://probe.example:81/health?deep=1 HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains("\r\nHost: probe.example:81\r\n"), "{asked}");
        assert!(!asked.to_ascii_lowercase().contains("authorization"), "{asked}");
    }

    #[test]
    fn an_answer_below_500_passes_and_nothing_else() {
        for text in
            ["HTTP/1.0 204\r\n\r\n", "HTTP/1.1 407 Who\r\n\r\n", "HTTP/1.1 403 No\n", "HTTP/1.1 302 \r\n"]
        {
            let (endpoint, asked) = answers(text);
            assert_eq!(probe(URL, &endpoint), Ok(()), "{text:?}");
            asked.join().unwrap();
        }
        for (text, why) in [
            ("HTTP/1.1 503 Service Unavailable\r\n\r\n", "it answers 503"),
            ("HTTP/1.1 2000 OK\r\n\r\n", "its answer is no HTTP"),
            ("SSH-2.0-OpenSSH_9.6\r\n", "its answer is no HTTP"),
            ("HTTP/1.1 200 OK", "its answer is no HTTP"),
            ("\u{fffd}\r\n", "its answer is no HTTP"),
            ("", "it closed without an answer"),
        ] {
            let (endpoint, asked) = answers(text);
            assert_eq!(probe(URL, &endpoint), Err(Fault::Proxy(why.to_owned())), "{text:?}");
            asked.join().unwrap();
        }
    }

    #[test]
    fn without_a_url_a_connection_is_enough() {
        let (endpoint, asked) = answers("");
        assert_eq!(probe(None, &endpoint), Ok(()));
        assert_eq!(asked.join().unwrap(), "");
    }

    #[test]
    fn a_closed_port_and_a_bad_endpoint_are_the_proxys_fault() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        for endpoint in [closed.as_str(), "10.0.0.1", "proxy.example:3128"] {
            assert!(matches!(probe(URL, endpoint), Err(Fault::Proxy(_))), "{endpoint}");
        }
    }

    #[test]
    fn want_of_means_here_is_no_fault_of_the_proxy() {
        for number in [23, 24, 99, 105, 12] {
            let error = io::Error::from_raw_os_error(number);
            assert!(matches!(fault("no connection", &error), Fault::Here(_)), "{error}");
        }
        let refused = io::Error::from_raw_os_error(111);
        assert!(matches!(fault("no connection", &refused), Fault::Proxy(_)));
    }

    #[test]
    fn a_url_is_taken_only_as_it_can_stand_in_a_request() {
        let url = |text| ProbeUrl::parse(text).map(|url| url.as_str().to_owned());
        assert_eq!(url("http://a.example").as_deref(), Ok("http://a.example/"));
        assert_eq!(url("http://a.example?b").as_deref(), Ok("http://a.example/?b"));
        assert_eq!(url("http://a.example:8080/b?c").as_deref(), Ok("http://a.example:8080/b?c"));
        for bad in [
            "",
            "https://a.example/",
            "http://",
            "http:///b",
            "http://u:p@a.example/",
            "http://a/ b",
            "http://a/#c",
            "http://a/\r\nX: y",
        ] {
            assert!(url(bad).is_err(), "{bad:?}");
        }
    }
}
