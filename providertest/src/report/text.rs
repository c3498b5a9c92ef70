//! Text from backends and providers made fit for readers: control characters shown, never sent on, and huge texts cut.

use std::{borrow::Cow, fmt::Write as _};

/// The text on one line: whatever could move a cursor, change a colour or turn the direction of reading is spelt out.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(spelt(text.trim_end_matches('\n')))
    }
}

/// The text on one line, fit for HTML and XML, between tags as in attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in one_line(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The text as lines, each like [`one_line`].
pub(super) fn lines(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.trim_end().split('\n').map(|line| one_line(line.trim_end_matches('\r')))
}

/// The beginning of a text that is longer than a reader can use, with a word on what is left out.
pub(super) fn cut(text: &str, at_most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(at_most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => {
            let rest = text[end..].chars().count();
            Cow::Owned(format!("{} … ({rest} more characters)", &text[..end]))
        }
    }
}

/// The places of a long list that are shown: its beginning, its end, and what matters in between.
pub(super) fn shown(count: usize, at_most: usize, matters: impl Fn(usize) -> bool) -> Vec<Shown> {
    if count <= at_most {
        return (0..count).map(Shown::Place).collect();
    }
    let head = at_most / 3;
    let tail = count - (at_most - head);
    let mut shown = Vec::new();
    let mut left_out = 0;
    for place in 0..count {
        if place < head || place >= tail || matters(place) {
            if left_out > 0 {
                shown.push(Shown::LeftOut(left_out));
                left_out = 0;
            }
            shown.push(Shown::Place(place));
        } else {
            left_out += 1;
        }
    }
    shown
}

/// One line of a shortened list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// What stands at this place.
    Place(usize),
    /// So many are left out here.
    LeftOut(usize),
}

/// Breaks a text into lines of at most `width` characters, at spaces where there are any.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut wrapped = Vec::new();
    for paragraph in lines(text) {
        let mut line = String::new();
        let mut length = 0;
        for word in paragraph.split(' ') {
            let word_length = word.chars().count();
            if length > 0 && length + 1 + word_length > width {
                wrapped.push(std::mem::take(&mut line));
                length = 0;
            }
            if length > 0 {
                line.push(' ');
                length += 1;
            }
            line.push_str(word);
            length += word_length;
        }
        wrapped.push(line);
    }
    wrapped
}

/// A duration as a reader takes it in: `12 ms`, `3.4 s`, `2 min 5 s`.
pub(super) fn duration(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{:.1} s", millis as f64 / 1_000.0),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
    }
}

fn is_plain(c: char) -> bool {
    let turns_direction =
        matches!(c, '\u{200E}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    // The last two of every plane are no characters, and XML knows only the first plane's by name.
    let no_character = matches!(c as u32 & 0xFFFF, 0xFFFE | 0xFFFF);
    !(c.is_control() || turns_direction || no_character || matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}'))
}

fn spelt(text: &str) -> String {
    let mut spelt = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if is_plain(c) => spelt.push(c),
            '\n' => spelt.push_str("\\n"),
            '\r' => spelt.push_str("\\r"),
            '\t' => spelt.push_str("\\t"),
            c => {
                let _ = write!(spelt, "\\u{{{:x}}}", c as u32);
            }
        }
    }
    spelt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_goes_through() {
        assert_eq!(one_line("plain äöü ✓"), "plain äöü ✓");
        assert_eq!(one_line("\u{1b}[31mred\u{7}\tx\r\ny"), "\\u{1b}[31mred\\u{7}\\tx\\r\\ny");
        assert_eq!(one_line("a\u{202e}b\u{feff}\u{ffff}"), "a\\u{202e}b\\u{feff}\\u{ffff}");
        assert_eq!(lines("a\r\nb\n").collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn huge_texts_are_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äöü … (1 more characters)");
    }

    #[test]
    fn what_matters_is_shown_in_a_long_list() {
        let shown = shown(100, 6, |place| place == 50);
        let expected = [
            Shown::Place(0),
            Shown::Place(1),
            Shown::LeftOut(48),
            Shown::Place(50),
            Shown::LeftOut(45),
            Shown::Place(96),
            Shown::Place(97),
            Shown::Place(98),
            Shown::Place(99),
        ];
        assert_eq!(shown, expected);
        assert_eq!(super::shown(3, 6, |_| false).len(), 3);
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable-word x", 5), ["unbreakable-word", "x"]);
    }
}
