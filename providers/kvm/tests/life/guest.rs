//! What the guest is told to do, and whether it does: a request through its Squid to a server of the test's.

use std::{
    net::IpAddr,
    time::{Duration, Instant},
};

use provider_api::{Provider, ProviderId, State, StateKind};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

use crate::host::server;

/// cloud-init's part. An image that has Squid already installs nothing; without the host name Squid would look for one
/// in the DNS.
pub(crate) const USER_DATA: &str = "#cloud-config
packages: [squid]
write_files:
  - path: /etc/squid/squid.conf
    content: |
      http_port 3128
      visible_hostname proxy
      acl all src all
      http_access allow all
      cache deny all
      shutdown_lifetime 1 seconds
      pinger_enable off
runcmd:
  - [systemctl, restart, squid]
";

const GREETING: &str = "hello from the far end";

/// Long enough for an emulated guest on a machine that does something else beside it.
const PATIENCE: Duration = Duration::from_secs(300);
const STEP: Duration = Duration::from_millis(500);

/// Waits until the provider says that it runs; the address that it says.
pub(crate) async fn until_running(provider: &dyn Provider, id: &ProviderId) -> IpAddr {
    let begun = Instant::now();
    loop {
        match provider.get(id).await.unwrap().state {
            State::Running { address } => return address,
            state => {
                assert_eq!(state.kind(), StateKind::Provisioning, "{state:?} while it boots");
                assert!(begun.elapsed() < PATIENCE, "{state:?} after {PATIENCE:?}");
            }
        }
        sleep(STEP).await;
    }
}

/// Waits until a page can be had through the proxy.
pub(crate) async fn answers(address: IpAddr) {
    let listener = TcpListener::bind((server(), 0)).await.unwrap();
    let page = format!("http://{}/", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        loop {
            let (stream, from) = listener.accept().await.unwrap();
            assert_eq!(from.ip(), address, "the page is asked for by the guest");
            tokio::spawn(greet(stream));
        }
    });
    let begun = Instant::now();
    loop {
        // Cut off where the guest has its address and not yet its Squid.
        let seen = match timeout(Duration::from_secs(10), ask(address, &page)).await {
            Ok(Ok(answer)) if answer.starts_with("HTTP/1.1 200") && answer.ends_with(GREETING) => break,
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        assert!(!serving.is_finished(), "somebody else asked for the page");
        assert!(begun.elapsed() < PATIENCE, "no page through {address} after {PATIENCE:?}, last: {seen}");
        sleep(STEP).await;
    }
    serving.abort();
}

async fn ask(proxy: IpAddr, page: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((proxy, 3128)).await?;
    stream
        .write_all(format!("GET {page} HTTP/1.1\r\nHost: far\r\nConnection: close\r\n\r\n").as_bytes())
        .await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

async fn greet(mut stream: TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let length = GREETING.len();
    let answer =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{GREETING}");
    stream.write_all(answer.as_bytes()).await
}
