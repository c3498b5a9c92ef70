//! Checks that every link within the documentation leads somewhere: to a file of the tree, and to a heading or an anchor
//! that is there. Links to elsewhere are not followed. Those in doc comments are found by `rustdoc.rs`.

use super::File;
use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};

/// Templates are pages of crates that are still to be made.
pub(super) const ELSEWHERE: &str = "xtask/src/new_provider/template/";

/// Every link of a page that leads nowhere.
pub(super) fn complaints(files: &[File]) -> Vec<String> {
    let tree = Tree::of(files);
    let complaints = tree.pages.iter().flat_map(|page| {
        let wrong = links(&page.text).into_iter().filter_map(|link| tree.wrong(&page.path, &link));
        wrong.map(|why| format!("{}: {why}", page.path)).collect::<Vec<_>>()
    });
    complaints.collect()
}

/// What links can lead to.
pub(super) struct Tree<'f> {
    paths: BTreeSet<&'f str>,
    pages: Vec<&'f File>,
    anchors: BTreeMap<&'f str, BTreeSet<String>>,
}

impl<'f> Tree<'f> {
    pub(super) fn of(files: &'f [File]) -> Self {
        let is_page = |file: &&File| file.path.ends_with(".md") && !file.path.starts_with(ELSEWHERE);
        let pages: Vec<_> = files.iter().filter(is_page).collect();
        let anchors = pages.iter().map(|page| (page.path.as_str(), anchors(&page.text))).collect();
        Self { paths: files.iter().map(|file| file.path.as_str()).collect(), pages, anchors }
    }

    /// Why a link in the file at `from` leads nowhere, if it does.
    pub(super) fn wrong(&self, from: &str, link: &Link) -> Option<String> {
        let link = match link {
            Link::To(link) if link.is_empty() => return Some("a link has no destination".into()),
            Link::To(link) => link,
            Link::Undefined(name) => return Some(format!("nothing says where the link [{name}] leads")),
        };
        let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
        let path = if target.is_empty() { Some(from.to_owned()) } else { resolve(from, target) };
        let Some(path) = path.filter(|path| self.has(path)) else {
            return Some(format!("the link to {link} leads to no file of the tree"));
        };
        let lacks = |known: &BTreeSet<String>| !anchor.is_empty() && !known.contains(anchor);
        let lacks = self.anchors.get(path.as_str()).is_some_and(lacks);
        lacks.then(|| format!("{path} has no heading or anchor {anchor}"))
    }

    /// Whether there is such a file or folder.
    pub(super) fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.paths.contains(path) || self.paths.iter().any(|known| known.starts_with(&folder))
    }
}

/// A link of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// Its destination.
    To(String),
    /// It names a definition that the page lacks, and is shown as it is written.
    Undefined(String),
}

/// A page's links and pictures that stay within the tree, those in HTML too.
pub(super) fn links(text: &str) -> Vec<Link> {
    let mut undefined = Vec::new();
    // `[words]` alone are brackets that somebody wrote; `[words][name]` and `[name][]` are meant as links.
    let callback = |broken: BrokenLink<'_>| -> Option<(CowStr<'_>, CowStr<'_>)> {
        if broken.link_type != LinkType::Shortcut {
            undefined.push(Link::Undefined(broken.reference.to_string()));
        }
        None
    };
    let parser = Parser::new_with_broken_link_callback(text, Options::empty(), Some(callback));
    let destinations = parser.flat_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            vec![dest_url.into_string()]
        }
        Event::InlineHtml(html) | Event::Html(html) => {
            ["href", "src"].iter().flat_map(|name| attribute(&html, name)).collect()
        }
        _ => Vec::new(),
    });
    let elsewhere = |link: &str| ["http://", "https://", "mailto:"].iter().any(|way| link.starts_with(way));
    let mut links: Vec<_> = destinations.filter(|link| !elsewhere(link)).map(Link::To).collect();
    links.append(&mut undefined);
    links
}

/// The values of an attribute in a piece of HTML.
fn attribute(html: &str, name: &str) -> Vec<String> {
    let opening = format!(" {name}=\"");
    let values = html.split(&opening).skip(1).filter_map(|rest| rest.split('"').next());
    values.map(str::to_owned).collect()
}

/// What a link to a page can name: its headings, as forges spell them, and its own anchors. Of headings that are alike
/// the second ends in `-1`, the third in `-2`.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap_or_default());
                let times = times.entry(slug.clone()).or_default();
                anchors.insert(if *times == 0 { slug } else { format!("{slug}-{times}") });
                *times += 1;
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some(title) = &mut heading {
                    title.push_str(&part);
                }
            }
            Event::InlineHtml(html) | Event::Html(html) => {
                anchors.extend(attribute(&html, "id"));
            }
            _ => {}
        }
    }
    anchors
}

/// Letters, digits, dashes and underscores in lower case, spaces as dashes, the rest left out.
fn slug(title: &str) -> String {
    let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

/// The path of a link's target from the root; `None` where it leads out of the tree.
pub(super) fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = match target.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => page.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect(),
    };
    for part in target.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn links_in_html_and_without_a_destination_are_followed_too() {
        let text = "<a href=\"no.md\">1</a> <img src=\"no.png\"> [2]() [3](no.md?from=https://x) \
                    <a href=\"https://x\">4</a>\n";
        let complaints = complaints(&[file("docs/a.md", text)]);
        assert_eq!(complaints.len(), 4, "{complaints:?}");
    }

    #[test]
    fn links_that_nothing_defines_are_found() {
        let text = "[1][nowhere] [nowhere][] [a box] [ ] [2][here] `[3][code]`\n\n[here]: #here\n\n# Here\n";
        let complaint = "docs/a.md: nothing says where the link [nowhere] leads";
        assert_eq!(complaints(&[file("docs/a.md", text)]), [complaint, complaint]);
    }

    #[test]
    fn headings_that_are_alike_have_anchors_of_their_own() {
        let text = "# A\n\n## Why\n\n# B\n\n## Why\n\n[1](#why) [2](#why-1) [3](#why-2) [4](#a-1)\n";
        let complaints = complaints(&[file("docs/a.md", text)]);
        let lacks = |anchor| format!("docs/a.md: docs/a.md has no heading or anchor {anchor}");
        assert_eq!(complaints, [lacks("why-2"), lacks("a-1")]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let target = file("docs/b.md", "# The first, `part`\n\n## 2. Of two\n\n<a id=\"x.y\"></a>here\n");
        let good = "[1](b.md) [2](b.md#the-first-part) [3](b.md#x.y) [4](../README.md) [5](#here) \
                    [6](https://example.org/nowhere) [7](b.md#2-of-two) [8](../docs)\n\n# Here\n";
        let readme = file("README.md", "[docs](docs/b.md)\n");
        assert_eq!(complaints(&[target, readme, file("docs/a.md", good)]), Vec::<String>::new());
        let bad = file("docs/a.md", "[1](c.md) [2](#no) [3](../../etc/passwd)\n\n`[4](none.md)`\n");
        assert_eq!(
            complaints(&[bad]),
            [
                "docs/a.md: the link to c.md leads to no file of the tree",
                "docs/a.md: docs/a.md has no heading or anchor no",
                "docs/a.md: the link to ../../etc/passwd leads to no file of the tree",
            ]
        );
    }
}
