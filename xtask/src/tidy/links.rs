//! Checks that every link within the documentation leads somewhere: to a file of the tree, and to a heading or an anchor
//! that is there. Links to elsewhere are not followed.

use super::File;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};

/// Templates are pages of crates that are still to be made.
const ELSEWHERE: &str = "xtask/src/new_provider/template/";

/// Every link that leads nowhere.
pub(super) fn complaints(files: &[File]) -> Vec<String> {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let pages: Vec<&File> =
        files.iter().filter(|file| file.path.ends_with(".md") && !file.path.starts_with(ELSEWHERE)).collect();
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), anchors(&page.text))).collect();
    let mut complaints = Vec::new();
    for page in &pages {
        for link in links(&page.text) {
            if link.is_empty() {
                complaints.push(format!("{}: a link has no destination", page.path));
                continue;
            }
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = if target.is_empty() { Some(page.path.clone()) } else { resolve(&page.path, target) };
            let is_there = |path: &String| {
                paths.contains(path.as_str())
                    || paths.iter().any(|known| known.starts_with(&format!("{path}/")))
            };
            let Some(path) = path.filter(is_there) else {
                complaints.push(format!("{}: the link to {link} leads to no file of the tree", page.path));
                continue;
            };
            if !anchor.is_empty() && anchors.get(path.as_str()).is_some_and(|known| !known.contains(anchor)) {
                complaints.push(format!("{}: {path} has no heading or anchor {anchor}", page.path));
            }
        }
    }
    complaints
}

/// The destinations of a page's links and pictures that stay within the tree, those in HTML too.
fn links(text: &str) -> Vec<String> {
    let destinations = Parser::new(text).flat_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            vec![dest_url.into_string()]
        }
        Event::InlineHtml(html) | Event::Html(html) => {
            ["href", "src"].iter().flat_map(|name| attribute(&html, name)).collect()
        }
        _ => Vec::new(),
    });
    let elsewhere = |link: &str| ["http://", "https://", "mailto:"].iter().any(|way| link.starts_with(way));
    destinations.filter(|link| !elsewhere(link)).collect()
}

/// The values of an attribute in a piece of HTML.
fn attribute(html: &str, name: &str) -> Vec<String> {
    let opening = format!(" {name}=\"");
    let values = html.split(&opening).skip(1).filter_map(|rest| rest.split('"').next());
    values.map(str::to_owned).collect()
}

/// What a link to a page can name: its headings, as forges spell them, and its own anchors.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => anchors.extend(heading.take().map(|title| slug(&title))),
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
fn resolve(page: &str, target: &str) -> Option<String> {
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
