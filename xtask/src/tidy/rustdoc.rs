//! Checks the files that doc comments point to: by a link, or by a page's path in backticks. Links to items are the
//! compiler's to check.

use super::{
    File,
    links::{ELSEWHERE, Link, Tree, links, resolve},
};

/// Every link and path in a doc comment that leads to no page of the tree.
pub(super) fn complaints(files: &[File]) -> Vec<String> {
    let tree = Tree::of(files);
    let sources = files.iter().filter(|file| file.path.ends_with(".rs") && !file.path.starts_with(ELSEWHERE));
    let complaints = sources.flat_map(|file| {
        comments(&file.text).into_iter().flat_map(|(line, comment)| {
            let links = links(&comment).into_iter().filter(is_to_a_page);
            let wrong = links.filter_map(|link| tree.wrong(&file.path, &link));
            let named = paths(&comment).filter(|path| !is_there(&tree, &file.path, path));
            let named = named.map(|path| format!("there is no page {path}"));
            wrong.chain(named).map(|why| format!("{}:{line}: {why}", file.path)).collect::<Vec<_>>()
        })
    });
    complaints.collect()
}

/// Doc comments, each with the line on which it begins.
fn comments(text: &str) -> Vec<(usize, String)> {
    let mut comments: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let doc = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
        let doc = doc.filter(|doc| !doc.starts_with('/'));
        if let Some(doc) = doc {
            if !goes_on {
                comments.push((at + 1, String::new()));
            }
            if let Some((_, comment)) = comments.last_mut() {
                comment.push_str(doc.strip_prefix(' ').unwrap_or(doc));
                comment.push('\n');
            }
        }
        goes_on = doc.is_some();
    }
    comments
}

/// Whether a link is to a page. What an item's link lacks the compiler says.
fn is_to_a_page(link: &Link) -> bool {
    match link {
        Link::To(link) => is_page(link.split('#').next().unwrap_or(link)),
        Link::Undefined(_) => false,
    }
}

fn is_page(path: &str) -> bool {
    path.ends_with(".md")
}

/// Pages that are named by their path in backticks, examples of code left out.
fn paths(comment: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let prose = comment.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    });
    let quoted = prose.flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.filter(|word| is_page(word) && word.contains('/') && !word.contains([' ', '*', '<', '{']))
}

/// Whether there is such a page from the root, from the file's folder, or from its crate's.
fn is_there(tree: &Tree<'_>, from: &str, path: &str) -> bool {
    let within = from.split_once("/src/").map(|(crate_root, _)| format!("{crate_root}/{path}"));
    tree.has(path)
        || within.is_some_and(|within| tree.has(&within))
        || resolve(from, path).is_some_and(|path| tree.has(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn pages_that_doc_comments_point_to_are_looked_for() {
        let page = file("docs/b.md", "# Here\n");
        let good = "//! See `docs/b.md` and [it](../../docs/b.md#here), [`Item`], [an item](crate::Item).\n\n\
                    /// ```text\n/// `docs/c.md`\n/// ```\nfn a() {} // `docs/c.md`\n";
        assert_eq!(complaints(&[page, file("a/src/lib.rs", good)]), Vec::<String>::new());
        let page = file("docs/b.md", "# Here\n");
        let bad = "//! See `docs/c.md`.\n\n/// Or [it](../docs/b.md),\n/// or [this](../../docs/b.md#no).\nfn a() {}\n";
        assert_eq!(
            complaints(&[page, file("a/src/lib.rs", bad)]),
            [
                "a/src/lib.rs:1: there is no page docs/c.md",
                "a/src/lib.rs:3: the link to ../docs/b.md leads to no file of the tree",
                "a/src/lib.rs:3: docs/b.md has no heading or anchor no",
            ]
        );
    }
}
