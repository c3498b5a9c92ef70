//! Certificates made on the spot: an authority of the fake's own, and what the server shows by it, right or wrong.

use std::{
    fmt, io,
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

/// TLS for a fake: an authority of its own, and the certificate that the server shows. Cheap to clone; clones are one.
///
/// ```
/// use providertest::fake::{Certificate, Tls};
///
/// let tls = Tls::new(&["api.machines.example"])?;
/// // The provider's config names a file with this in it.
/// assert!(tls.ca_pem().starts_with("-----BEGIN CERTIFICATE-----"));
/// // From the next handshake on, a client that looks at dates refuses the server.
/// tls.show(Certificate::Expired)?;
/// tls.show(Certificate::Good)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Tls(Arc<Authority>);

/// What the server shows at a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// A certificate that holds: for `localhost`, `127.0.0.1`, `::1` and the names that the fake was given.
    Good,
    /// One that held until the year 2001.
    Expired,
    /// One that holds from the year 4000 on.
    NotYet,
    /// One for a name that is not the server's: `somewhere-else.invalid`.
    WrongName,
    /// One for the right names, by an authority that nobody was told of.
    Untrusted,
}

struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    ca_pem: String,
    names: Vec<String>,
    shown: RwLock<Arc<CertifiedKey>>,
}

impl Tls {
    /// A fresh authority, and a good certificate by it.
    ///
    /// # Errors
    /// When a name is none that a certificate can carry.
    pub fn new(names: &[&str]) -> io::Result<Self> {
        let issuer = issuer()?;
        let names: Vec<String> =
            ["localhost", "127.0.0.1", "::1"].iter().chain(names).map(|name| (*name).to_owned()).collect();
        let shown = RwLock::new(Arc::new(issue(&issuer, &names, Certificate::Good)?));
        Ok(Self(Arc::new(Authority { ca_pem: issuer.pem(), issuer, names, shown })))
    }

    /// The certificate of the authority in PEM, which clients are to trust.
    pub fn ca_pem(&self) -> &str {
        &self.0.ca_pem
    }

    /// Writes the authority's certificate into a file, for a config that names one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_ca(&self, file: &Path) -> io::Result<()> {
        std::fs::write(file, self.ca_pem())
    }

    /// Shows that certificate from the next handshake on. Connections that stand are left alone.
    ///
    /// # Errors
    /// When the certificate cannot be made.
    pub fn show(&self, certificate: Certificate) -> io::Result<()> {
        let Authority { issuer, names, shown, .. } = &*self.0;
        let key = match certificate {
            Certificate::Untrusted => issue(&self::issuer()?, names, Certificate::Good)?,
            Certificate::WrongName => issue(issuer, &["somewhere-else.invalid".to_owned()], certificate)?,
            Certificate::Good | Certificate::Expired | Certificate::NotYet => {
                issue(issuer, names, certificate)?
            }
        };
        *shown.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
        Ok(())
    }

    /// What a server needs; `protocols` are offered by ALPN.
    pub(crate) fn server(&self, protocols: &[&str]) -> io::Result<Arc<ServerConfig>> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Shown(self.clone())));
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        // A resumed session would show no certificate.
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        Ok(Arc::new(config))
    }
}

/// What the server shows, as rustls asks for it.
#[derive(Debug)]
struct Shown(Tls);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.0.shown.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn issuer() -> io::Result<CertifiedIssuer<'static, KeyPair>> {
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate().map_err(io::Error::other)?;
    // Two authorities of one name would be taken for one by some clients.
    ca.distinguished_name.push(DnType::CommonName, format!("fake {}", key_number(&key)));
    CertifiedIssuer::self_signed(ca, key).map_err(io::Error::other)
}

fn key_number(key: &KeyPair) -> String {
    key.public_key_raw().iter().take(9).skip(1).map(|byte| format!("{byte:02x}")).collect()
}

fn issue(
    issuer: &CertifiedIssuer<'static, KeyPair>,
    names: &[String],
    certificate: Certificate,
) -> io::Result<CertifiedKey> {
    let mut leaf = CertificateParams::new(names).map_err(io::Error::other)?;
    leaf.distinguished_name.push(DnType::CommonName, "fake backend");
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    match certificate {
        Certificate::Expired => {
            (leaf.not_before, leaf.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1));
        }
        Certificate::NotYet => leaf.not_before = date_time_ymd(4000, 1, 1),
        Certificate::Good | Certificate::WrongName | Certificate::Untrusted => {}
    }
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let leaf = leaf.signed_by(&key, issuer).map_err(io::Error::other)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    CertifiedKey::from_der(vec![leaf.der().clone()], key, &ring::default_provider()).map_err(io::Error::other)
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("names", &self.0.names).finish_non_exhaustive()
    }
}
