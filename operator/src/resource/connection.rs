//! How to reach a proxy, as what stands in the Secret that a Proxy names by `spec.connectionSecret`.

use std::net::SocketAddr;

use provider_api::{Credentials, Secret};

use super::{
    SecretData,
    digest::{Digest, Digester},
};

/// What consumers are told: where, and as whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Address and port.
    pub endpoint: SocketAddr,
    /// User name and password, where users have to give them.
    pub credentials: Option<Credentials>,
}

impl Connection {
    /// As the Secret has it: `host`, `port`, `url`, and `username` and `password` where there are any. The url has the same user
    /// name and password in it.
    pub fn to_data(&self) -> SecretData {
        let Self { endpoint, credentials } = self;
        let mut data: SecretData = [
            ("host".to_owned(), Secret::new(endpoint.ip().to_string())),
            ("port".to_owned(), Secret::new(endpoint.port().to_string())),
        ]
        .into();
        let mut url = b"http://".to_vec();
        if let Some(Credentials { username, password }) = credentials {
            url.extend(escaped(username.as_bytes()));
            url.push(b':');
            url.extend(escaped(password.reveal()));
            url.push(b'@');
            data.insert("username".to_owned(), Secret::new(username.as_bytes()));
            data.insert("password".to_owned(), password.clone());
        }
        url.extend(endpoint.to_string().into_bytes());
        data.insert("url".to_owned(), Secret::new(url));
        data
    }
}

/// The digest of what is published, without it.
pub(crate) fn digest(secret: &str, endpoint: &str, credentials: Option<&Digest>) -> Digest {
    let mut digester = Digester::new("connection/1");
    digester.text("secret", secret);
    digester.text("endpoint", endpoint);
    digester.text("credentials", credentials.map_or("", Digest::as_str));
    digester.digest()
}

/// Bytes as a URL takes them before its `@`.
fn escaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(*byte),
            other => out.extend(format!("%{other:02X}").into_bytes()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(endpoint: &str, credentials: Option<(&str, &str)>) -> Vec<(String, String)> {
        let credentials = credentials.map(|(username, password)| Credentials {
            username: username.to_owned(),
            password: Secret::new(password),
        });
        let data = Connection { endpoint: endpoint.parse().unwrap(), credentials }.to_data();
        data.into_iter().map(|(key, value)| (key, value.reveal_str().unwrap().to_owned())).collect()
    }

    fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn it_says_host_port_and_url() {
        let expected = [("host", "10.0.0.7"), ("port", "3128"), ("url", "http://10.0.0.7:3128")];
        assert_eq!(told("10.0.0.7:3128", None), pairs(expected));
        let expected = [("host", "fd00::7"), ("port", "3128"), ("url", "http://[fd00::7]:3128")];
        assert_eq!(told("[fd00::7]:3128", None), pairs(expected));
    }

    #[test]
    fn a_password_of_any_characters_stands_in_the_url_so_that_it_can_be_read_back() {
        let expected = [
            ("host", "10.0.0.7"),
            ("password", "p@ss/w:rd ä%"),
            ("port", "3128"),
            ("url", "http://al%40ice:p%40ss%2Fw%3Ard%20%C3%A4%25@10.0.0.7:3128"),
            ("username", "al@ice"),
        ];
        assert_eq!(told("10.0.0.7:3128", Some(("al@ice", "p@ss/w:rd ä%"))), pairs(expected));
    }
}
