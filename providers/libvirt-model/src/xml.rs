//! XML as libvirt takes it: elements that are written with every value escaped. Reading is `roxmltree`'s.

use std::fmt::{self, Write as _};

/// An element with attributes, and either text or elements in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    inside: Inside,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Inside {
    Nothing,
    Text(String),
    Elements(Vec<Element>),
}

impl Element {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, attributes: Vec::new(), inside: Inside::Nothing }
    }

    pub(crate) fn attr(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    pub(crate) fn text(mut self, text: impl fmt::Display) -> Self {
        self.inside = Inside::Text(text.to_string());
        self
    }

    pub(crate) fn with(mut self, elements: impl IntoIterator<Item = Self>) -> Self {
        let mut all = match self.inside {
            Inside::Elements(elements) => elements,
            Inside::Nothing | Inside::Text(_) => Vec::new(),
        };
        all.extend(elements);
        self.inside = Inside::Elements(all);
        self
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        write!(f, "{:depth$}<{}", "", self.name, depth = 2 * depth)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"")?;
            escape(f, value)?;
            f.write_char('"')?;
        }
        match &self.inside {
            Inside::Nothing => f.write_str("/>\n"),
            Inside::Text(text) => {
                f.write_char('>')?;
                escape(f, text)?;
                writeln!(f, "</{}>", self.name)
            }
            Inside::Elements(elements) => {
                f.write_str(">\n")?;
                elements.iter().try_for_each(|element| element.write(f, depth + 1))?;
                writeln!(f, "{:depth$}</{}>", "", self.name, depth = 2 * depth)
            }
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

/// White space is written as what it is, since readers turn it into blanks in attributes. What XML cannot hold at all is
/// replaced: nothing that we write has it, unless a backend or a config does.
fn escape(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.chars().try_for_each(|c| match c {
        '&' => f.write_str("&amp;"),
        '<' => f.write_str("&lt;"),
        '>' => f.write_str("&gt;"),
        '"' => f.write_str("&quot;"),
        '\'' => f.write_str("&apos;"),
        '\t' | '\n' | '\r' => write!(f, "&#{};", u32::from(c)),
        '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => f.write_char(char::REPLACEMENT_CHARACTER),
        c => f.write_char(c),
    })
}

/// What libvirt answered is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} cannot be read: {why}")]
pub struct Unreadable {
    what: &'static str,
    why: String,
}

impl Unreadable {
    pub(crate) fn new(what: &'static str, why: impl fmt::Display) -> Self {
        // What cannot be read is quoted, and may be as long as a host likes.
        Self { what, why: why.to_string().chars().take(200).collect() }
    }
}

/// The most that a document of libvirt's may have. It has far less, and whoever writes more means to exhaust a reader: the
/// parser compares each attribute of an element with all before it, and keeps for each element that declares a namespace
/// all that were declared around it.
const ELEMENTS: u32 = 1 << 18;
const ATTRIBUTES_OF_ONE: usize = 512;
const NAMESPACES: usize = 512;

/// Parses a document. Nothing that libvirt writes has a document type, which could make it grow without end.
pub(crate) fn parse<'x>(what: &'static str, xml: &'x str) -> Result<roxmltree::Document<'x>, Unreadable> {
    // A tag has no `<` in it but its own.
    if xml.split('<').any(|tag| attributes_of(tag) > ATTRIBUTES_OF_ONE) {
        return Err(Unreadable::new(what, "it has an element with too many attributes"));
    }
    if xml.matches("xmlns").nth(NAMESPACES).is_some() {
        return Err(Unreadable::new(what, "it declares too many namespaces"));
    }
    let options = roxmltree::ParsingOptions { nodes_limit: ELEMENTS, ..roxmltree::ParsingOptions::default() };
    roxmltree::Document::parse_with_options(xml, options).map_err(|error| Unreadable::new(what, error))
}

/// How many attributes a tag has, which begins behind its `<`.
fn attributes_of(tag: &str) -> usize {
    if tag.starts_with(['!', '?']) {
        return 0;
    }
    let (mut count, mut quoted_by) = (0, None);
    for byte in tag.bytes() {
        match (quoted_by, byte) {
            (None, b'>') => break,
            (None, b'=') => count += 1,
            (None, b'"' | b'\'') => quoted_by = Some(byte),
            (Some(quote), _) if quote == byte => quoted_by = None,
            _ => {}
        }
    }
    count
}

/// The first element below `node` at that path.
pub(crate) fn at<'a, 'x>(node: roxmltree::Node<'a, 'x>, path: &[&str]) -> Option<roxmltree::Node<'a, 'x>> {
    path.iter().try_fold(node, |node, name| node.children().find(|child| child.has_tag_name(*name)))
}

/// Its text, without the space around it.
pub(crate) fn text_at<'a>(node: roxmltree::Node<'a, '_>, path: &[&str]) -> Option<&'a str> {
    at(node, path)?.text().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stand_in_each_other() {
        let xml = Element::new("a")
            .attr("b", 1)
            .with([Element::new("c").text("x < y"), Element::new("d")])
            .with([Element::new("e").attr("f", "it's \"so\"")]);
        let expected =
            "<a b=\"1\">\n  <c>x &lt; y</c>\n  <d/>\n  <e f=\"it&apos;s &quot;so&quot;\"/>\n</a>\n";
        assert_eq!(xml.to_string(), expected);
    }

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(Element::new("a").text("x\0y\u{b}z").to_string(), "<a>x\u{fffd}y\u{fffd}z</a>\n");
    }

    /// As large as a string of libvirt's may be.
    const LARGEST: usize = 4 << 20;

    /// Text of a host's that was made to exhaust whoever reads it.
    #[test]
    fn a_document_costs_no_more_than_its_length() {
        let many = |each: &dyn Fn(usize) -> String| {
            let mut text = String::new();
            let mut at = 0;
            while text.len() < LARGEST {
                text += &each(at);
                at += 1;
            }
            text
        };
        let attributes = format!("<a {}/>", many(&|at| format!(" a{at}=''")));
        let namespaces = many(&|at| format!("<a xmlns:n{}='urn:{}'>", at % 60_000, at % 60_000));
        let elements = format!("<a>{}</a>", many(&|_| "<a/>".to_owned()));
        let deep = many(&|_| "<a>".to_owned());
        let began = std::time::Instant::now();
        for hostile in [attributes, namespaces, elements, deep] {
            assert!(parse("test", &hostile).is_err(), "{}", &hostile[..40]);
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "it took {:?}", began.elapsed());
        let long = format!("<a b='{0}'>{0}<!-- {0} --></a>", "x = 1; ".repeat(1_000));
        assert!(parse("test", &long).is_ok(), "what people write is read");
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read_back(text in "[^\u{0}-\u{8}\u{b}\u{c}\u{e}-\u{1f}\u{fffe}\u{ffff}]{0,40}") {
            let xml = Element::new("a").attr("b", &text).with([Element::new("c").text(&text)]).to_string();
            let document = parse("test", &xml).unwrap();
            let root = document.root_element();
            proptest::prop_assert_eq!(root.attribute("b"), Some(&*text));
            proptest::prop_assert_eq!(at(root, &["c"]).unwrap().text().unwrap_or_default(), &*text);
        }
    }
}
