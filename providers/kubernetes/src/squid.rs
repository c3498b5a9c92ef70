//! The Squid configuration of one proxy: a pure function of the request and the config. How it gets into the Pod is
//! `pod.rs`.
//!
//! It is never an open proxy: only the allowed sources may use it, and sources that cover every address only together
//! with credentials. Passwords appear as SHA-512 crypt hashes, which Squid's own `basic_ncsa_auth` takes.

use std::{fmt::Write, num::NonZeroU16};

use data_encoding::BASE32_NOPAD;
use ipnet::IpNet;
use provider_api::{Access, Credentials, Error, LeftBehind, Uid};
use sha_crypt::{ROUNDS_DEFAULT, Sha512Params, sha512_crypt_b64};
use sha2::{Digest, Sha256};

/// Where the files are mounted.
pub(crate) const DIR: &str = "/etc/proxy";
/// The name of the configuration.
pub(crate) const CONF: &str = "squid.conf";
/// The name of the password file.
pub(crate) const PASSWORDS: &str = "passwd";
/// The longest user name and password that are taken.
const MAX_CREDENTIAL: usize = 256;

/// The two files of one proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Squid {
    /// `squid.conf`.
    pub(crate) conf: String,
    /// The password file, where the proxy asks for credentials.
    pub(crate) passwords: Option<String>,
}

/// Who may use the proxy, checked before any call (`create.rejects-unsatisfiable-before-any-call`).
pub(crate) fn sources<'r>(access: &'r Access, default: &'r [IpNet]) -> Result<&'r [IpNet], Error> {
    let refuse =
        |message: &str| Err(Error::permanent(message).coded("BadAccess").leaving(LeftBehind::Nothing));
    let sources = match access.allowed_sources.as_slice() {
        [] => default,
        own => own,
    };
    if sources.is_empty() {
        return refuse("access.allowedSources is empty, and the entry's defaultAllowedSources is too");
    }
    if is_everything(sources) && access.credentials.is_none() {
        return refuse(
            "access.allowedSources covers every address and there are no credentials: that would be an open proxy",
        );
    }
    if let Some(Credentials { username, password }) = &access.credentials {
        let plain = |c: char| !c.is_control() && !c.is_whitespace() && c != ':' && c != '#';
        if username.is_empty() || username.len() > MAX_CREDENTIAL || !username.chars().all(plain) {
            return refuse(
                "access.credentials has a user name that is empty, too long, or holds white space, a colon, a hash \
                 sign or a control character",
            );
        }
        let line = |byte: &u8| !matches!(byte, 0 | b'\n' | b'\r');
        if password.is_empty() || password.len() > MAX_CREDENTIAL || !password.reveal().iter().all(line) {
            return refuse("access.credentials has a password that is empty, too long or not one line");
        }
    }
    Ok(sources)
}

/// Writes both files. Hashing takes some milliseconds, so callers do it on a thread.
pub(crate) fn build(
    uid: &Uid,
    port: NonZeroU16,
    sources: &[IpNet],
    credentials: Option<&Credentials>,
    helper: &str,
) -> Squid {
    let mut conf = format!(
        "# Written when the proxy was created; a change means a new proxy.\n\
         http_port {port}\n\
         visible_hostname egress-proxy\n\
         pid_filename none\n\
         coredump_dir /tmp\n\
         netdb_filename none\n\
         pinger_enable off\n\
         cache deny all\n\
         cache_mem 16 MB\n\
         shutdown_lifetime 5 seconds\n\
         forwarded_for delete\n\
         cache_log /dev/stderr\n\
         # A readiness probe connects and says nothing; only requests are logged.\n\
         acl requests has request\n\
         access_log stdio:/dev/stdout logformat=squid requests\n"
    );
    if credentials.is_some() {
        let _ = write!(
            conf,
            "auth_param basic program {helper} {DIR}/{PASSWORDS}\n\
             auth_param basic realm egress proxy\n\
             auth_param basic children 4 startup=1\n\
             acl authenticated proxy_auth REQUIRED\n"
        );
    }
    for source in sources {
        let _ = writeln!(conf, "acl sources src {}", source.trunc());
    }
    conf.push_str(
        "acl tls_ports port 443\n\
         acl tunnel method CONNECT\n\
         acl link_local dst 169.254.0.0/16 fe80::/10\n\
         http_access deny manager\n\
         http_access deny to_localhost\n\
         http_access deny link_local\n\
         http_access deny tunnel !tls_ports\n\
         http_access deny !sources\n",
    );
    conf.push_str(match credentials {
        Some(_) => "http_access allow sources authenticated\n",
        None => "http_access allow sources\n",
    });
    conf.push_str("http_access deny all\n");
    Squid { conf, passwords: credentials.map(|credentials| password_line(uid, credentials)) }
}

/// Whether networks cover a whole address family, be it in pieces.
pub(crate) fn is_everything(networks: &[IpNet]) -> bool {
    IpNet::aggregate(&networks.to_vec()).iter().any(|network| network.prefix_len() == 0)
}

/// One line of the password file. The salt belongs to the owner's UID: unlike for unlike proxies, and the same again
/// when a create is repeated.
fn password_line(uid: &Uid, credentials: &Credentials) -> String {
    let digest = Sha256::new().chain_update("squid password salt\0").chain_update(uid.as_str()).finalize();
    let salt = BASE32_NOPAD.encode(&digest[..10]).to_ascii_lowercase();
    let params = Sha512Params::new(ROUNDS_DEFAULT).expect("the default is in range");
    let hash = sha512_crypt_b64(credentials.password.reveal(), salt.as_bytes(), &params)
        .expect("the salt has 16 characters of crypt's alphabet");
    format!("{}:$6${salt}${hash}\n", credentials.username)
}

#[cfg(test)]
mod tests {
    use provider_api::Secret;

    use super::*;

    fn nets(list: &[&str]) -> Vec<IpNet> {
        list.iter().map(|net| net.parse().unwrap()).collect()
    }

    fn user(name: &str, password: &str) -> Option<Credentials> {
        Some(Credentials { username: name.into(), password: Secret::new(password) })
    }

    fn squid(sources: &[&str], credentials: Option<&Credentials>) -> Squid {
        let uid = Uid::parse("6f9619ff-8b86-d011-b42d-00cf4fc964ff").unwrap();
        let port = NonZeroU16::new(3128).unwrap();
        build(&uid, port, &nets(sources), credentials, "/usr/lib/squid/basic_ncsa_auth")
    }

    #[test]
    fn golden_by_source() {
        insta::assert_snapshot!(squid(&["10.0.0.0/8", "10.1.2.3/16", "fd00::/8"], None).conf);
    }

    #[test]
    fn golden_by_source_and_password() {
        let squid = squid(&["0.0.0.0/0"], user("crawler", "correct horse battery staple").as_ref());
        insta::assert_snapshot!(format!("{}\n{}", squid.conf, squid.passwords.unwrap()));
    }

    #[test]
    fn it_is_never_an_open_proxy() {
        let default = nets(&["10.0.0.0/8"]);
        let access = |sources: &[&str], credentials| Access { allowed_sources: nets(sources), credentials };
        assert_eq!(sources(&access(&[], None), &default).unwrap(), default);
        for open in [
            &["0.0.0.0/0"][..],
            &["::/0"],
            &["0.0.0.0/1", "128.0.0.0/1"],
            &["10.0.0.0/8", "0.0.0.0/2", "64.0.0.0/2", "128.0.0.0/1"],
        ] {
            assert!(sources(&access(open, None), &default).is_err(), "{open:?}");
            assert!(sources(&access(open, user("a", "b")), &default).is_ok(), "{open:?}");
        }
        assert!(sources(&access(&[], None), &[]).is_err());
        for conf in [squid(&["10.0.0.0/8"], None).conf, squid(&["::/0"], user("a", "b").as_ref()).conf] {
            let rules: Vec<_> = conf.lines().filter(|line| line.starts_with("http_access")).collect();
            let allows: Vec<_> = rules.iter().filter(|rule| rule.contains(" allow ")).collect();
            assert_eq!(allows.len(), 1, "{conf}");
            assert!(allows[0].contains(" allow sources"), "{conf}");
            assert_eq!(rules.last(), Some(&"http_access deny all"));
        }
    }

    #[test]
    fn credentials_that_cannot_stand_in_the_file_are_refused() {
        let default = nets(&["10.0.0.0/8"]);
        let check = |name: &str, password: &str| {
            let access = Access { allowed_sources: Vec::new(), credentials: user(name, password) };
            sources(&access, &default).map(drop)
        };
        assert!(check("crawler", "s:e#c r\u{e9}t").is_ok());
        for (name, password) in [
            ("", "x"),
            ("a:b", "x"),
            ("a b", "x"),
            ("a\nb:$6$", "x"),
            ("#a", "x"),
            ("a", ""),
            ("a", "x\ny"),
            ("a", "x\0"),
            ("a", &"x".repeat(257)),
        ] {
            let error = check(name, password).unwrap_err();
            assert!(error.message().contains("access.credentials"), "{error}");
        }
    }

    #[test]
    fn the_password_is_never_in_either_file() {
        let credentials = user("crawler", "swordfish-1").unwrap();
        let squid = squid(&["10.0.0.0/8"], Some(&credentials));
        let passwords = squid.passwords.unwrap();
        assert!(!squid.conf.contains("swordfish") && !passwords.contains("swordfish"));
        assert!(passwords.starts_with("crawler:$6$"));
    }
}
