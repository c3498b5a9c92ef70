//! Credentials are read when they are used (`runtime.credentials-rotate`), and never quoted.

use provider_api::{CredentialFile, FailureClass, reasons};

#[test]
fn a_rotation_takes_effect_at_the_next_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let file = CredentialFile::new(&path);
    assert_eq!(file.path(), path);
    let error = file.read().unwrap_err();
    assert_eq!(
        (error.class(), error.code()),
        (FailureClass::Transient, Some(reasons::CREDENTIALS_UNAVAILABLE))
    );
    assert!(error.message().contains("token"), "the file is named: {error}");
    for token in ["first", "second", ""] {
        std::fs::write(&path, token).unwrap();
        assert_eq!(file.read().unwrap().reveal_str(), Some(token));
    }
}

#[test]
fn a_file_that_is_no_credential_is_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let limit = CredentialFile::MAX_BYTES as usize;
    std::fs::write(&path, vec![b'x'; limit]).unwrap();
    assert_eq!(CredentialFile::new(&path).read().unwrap().len(), limit);
    std::fs::write(&path, vec![b'x'; limit + 1]).unwrap();
    let error = CredentialFile::new(&path).read().unwrap_err();
    assert!(error.message().contains("1048576") && !error.message().contains("xxx"), "{error}");
    let error = CredentialFile::new(folder.path()).read().unwrap_err();
    assert_eq!(error.class(), FailureClass::Transient, "a folder is not readable: {error}");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let error = CredentialFile::new(std::env::temp_dir()).read().unwrap_err();
    assert!(error.message().contains("it is not a file"), "{error}");
}
