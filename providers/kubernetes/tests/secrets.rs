//! What every request carries in its header, and something on the way to the API server quotes back.
#![allow(clippy::unwrap_used)]

use std::{
    error::Error as _,
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::Arc,
};

use provider_api::{
    Context, Deadline, Identity, InstallationId, ProviderName, Providers, Registry, SystemClock, TokioSpawner,
};

const TOKEN: &str = "swordfish-of-the-service-account";

/// A gateway that answers every request with a page that quotes its headers.
fn quoting_gateway() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().flatten().for_each(quote));
    address
}

fn quote(mut stream: TcpStream) {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    let page = format!("bad gateway; it was sent: {}", head.join("; "));
    let _ = write!(
        stream,
        "HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{page}",
        page.len()
    );
}

fn kubeconfig(folder: &std::path::Path, server: SocketAddr) -> PathBuf {
    let path = folder.join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
         clusters: [{{name: c, cluster: {{server: 'http://{server}'}}}}]\n\
         users: [{{name: u, user: {{token: {TOKEN}}}}}]\n\
         contexts: [{{name: a, context: {{cluster: c, user: u}}}}]\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

fn load(yaml: &str) -> Providers {
    let mut registry = Registry::default();
    provider_kubernetes::register(&mut registry);
    let context = |name: &ProviderName| {
        let identity = Identity::new(InstallationId::parse("installation-1").unwrap());
        let clock = Arc::new(SystemClock::default());
        Context::new(name.clone(), identity, clock, Arc::new(TokioSpawner))
    };
    registry.load(yaml, |_| {}, context).unwrap()
}

#[tokio::test]
async fn a_token_that_a_gateway_quotes_is_in_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = kubeconfig(folder.path(), quoting_gateway());
    let providers = load(&format!(
        "providers:\n- name: a\n  type: kubernetes\n  kubernetes:\n    kubeconfig: {}\n    \
         defaultAllowedSources: [10.0.0.0/8]\n    namespaces: [team-a]\n",
        path.display()
    ));
    let built = &providers.get(&ProviderName::parse("a").unwrap()).unwrap().built;
    let error = built.provider.list_by_tag().await.unwrap_err();
    let mut text = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(next) = cause {
        text += &format!(" {next} {next:?}");
        cause = next.source();
    }
    assert!(text.contains("[redacted]"), "the gateway's page was to be quoted: {text}");
    assert!(!text.contains(TOKEN), "{text}");

    let checker = built.checker.as_ref().unwrap();
    let targets =
        checker.check(Deadline::within(&SystemClock::default(), std::time::Duration::from_secs(5))).await;
    assert!(!format!("{targets:?}").contains(TOKEN), "{targets:?}");
}
