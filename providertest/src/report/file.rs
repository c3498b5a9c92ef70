//! Puts a report into a file: whole or not at all.

use std::{
    borrow::Cow,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// A report could not be written; the old file, if there was one, is as it was.
#[derive(Debug, thiserror::Error)]
#[error("the report {path} cannot be written: {source}{hint}", path = path.display(), hint = self.hint())]
pub struct Unwritable {
    path: PathBuf,
    source: io::Error,
}

impl Unwritable {
    fn hint(&self) -> &'static str {
        match self.source.kind() {
            io::ErrorKind::NotFound => "; make its folder first",
            io::ErrorKind::StorageFull => "; free some room, or name another disk",
            io::ErrorKind::PermissionDenied => "; name a folder that you may write to",
            _ => "",
        }
    }
}

/// Finds out before a long run whether a report can be written there at all.
///
/// # Errors
/// [`Unwritable`] when it cannot.
pub fn check(path: &Path) -> Result<(), Unwritable> {
    if is_special(path) {
        return open_special(path).map(drop);
    }
    let path = &*followed(path);
    let (partial, file) = begin(path)?;
    drop(file);
    fs::remove_file(&partial).map_err(|source| Unwritable { path: path.to_owned(), source })
}

/// Writes a file whole or not at all: beside it first, then in its place. A device or a pipe is written to as it
/// stands.
///
/// # Errors
/// [`Unwritable`] when the folder is missing, the disk is full, or the path is not a file's.
pub fn write(path: &Path, text: &str) -> Result<(), Unwritable> {
    if is_special(path) {
        let written = open_special(path)?.write_all(text.as_bytes());
        return written.map_err(|source| Unwritable { path: path.to_owned(), source });
    }
    write_with(&followed(path), |file| file.write_all(text.as_bytes()))
}

/// Whether a device, a pipe or a socket stands there: `/dev/stdout` or `/dev/null`. To put a file in its place would
/// take it away from everybody else.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

fn open_special(path: &Path) -> Result<File, Unwritable> {
    let file = OpenOptions::new().write(true).open(path);
    file.map_err(|source| Unwritable { path: path.to_owned(), source })
}

/// The file that a link names: it is that one's text that is replaced, not the link.
fn followed(path: &Path) -> Cow<'_, Path> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => fs::canonicalize(path).map_or(Cow::Borrowed(path), Cow::Owned),
        _ => Cow::Borrowed(path),
    }
}

/// Where a report is put, however its path is spelt.
pub(crate) fn place(path: &Path) -> PathBuf {
    let path = followed(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match (folder.unwrap_or(Path::new(".")).canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.into_owned(),
    }
}

fn write_with(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Unwritable> {
    let (partial, mut file) = begin(path)?;
    // The disk may notice only when it is asked to keep what it was given.
    let written = fill(&mut file).and_then(|()| file.sync_all());
    drop(file);
    written.and_then(|()| fs::rename(&partial, path)).map_err(|source| {
        // The first failure is the one to tell.
        let _ = fs::remove_file(&partial);
        Unwritable { path: path.to_owned(), source }
    })
}

fn begin(path: &Path) -> Result<(PathBuf, File), Unwritable> {
    let unwritable = |source| Unwritable { path: path.to_owned(), source };
    if path.is_dir() {
        return Err(unwritable(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")));
    }
    let name = path.file_name().ok_or_else(|| {
        unwritable(io::Error::new(io::ErrorKind::InvalidInput, "the path does not name a file"))
    })?;
    let mut partial = std::ffi::OsString::from(".");
    partial.push(name);
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = path.with_file_name(partial);
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(&partial);
    Ok((partial, file.map_err(unwritable)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_report_replaces_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        check(&path).unwrap();
        assert_eq!(names(folder.path()), [""; 0]);
        write(&path, "old").unwrap();
        write(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(folder.path()), ["report.json"]);
    }

    #[test]
    fn a_full_disk_leaves_the_old_report_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        write(&path, "old").unwrap();
        let full = |file: &mut File| {
            file.write_all(b"half of i")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        let error = write_with(&path, full).unwrap_err().to_string();
        assert!(error.contains("report.json cannot be written: no storage space"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(folder.path()), ["report.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_device_stays_a_device_and_a_link_a_link() {
        use std::os::unix::fs::{FileTypeExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let null = folder.path().join("null");
        symlink("/dev/null", &null).unwrap();
        check(&null).unwrap();
        write(&null, "x").unwrap();
        assert!(fs::symlink_metadata(&null).unwrap().is_symlink());
        assert!(fs::metadata(&null).unwrap().file_type().is_char_device());

        let (link, file) = (folder.path().join("latest.json"), folder.path().join("report.json"));
        fs::write(&file, "old").unwrap();
        symlink("report.json", &link).unwrap();
        check(&link).unwrap();
        write(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[cfg(unix)]
    #[test]
    fn one_file_has_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, path) = (folder.path().join("inner"), folder.path().join("report"));
        fs::create_dir(&inner).unwrap();
        let roundabout = inner.join("../report");
        assert_eq!(place(&roundabout), place(&path));
        assert_ne!(place(&inner.join("report")), place(&path));
        assert_eq!(place(Path::new("./report")), place(Path::new("report")));
        write(&path, "x").unwrap();
        std::os::unix::fs::symlink("report", folder.path().join("link")).unwrap();
        assert_eq!(place(&folder.path().join("link")), place(&path));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_said() {
        let full = Path::new("/dev/full");
        check(full).unwrap();
        assert!(write(full, "x").unwrap_err().to_string().contains("/dev/full cannot be written"));
    }

    #[test]
    fn a_missing_folder_or_a_folder_as_file_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("no/report.json");
        assert!(check(&missing).unwrap_err().to_string().contains("No such file or directory"));
        assert!(write(folder.path(), "x").unwrap_err().to_string().ends_with("it is a folder"));
        assert!(check(Path::new("..")).is_err());
    }
}
