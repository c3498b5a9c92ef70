//! What a crate is to be like: its words, and which of the template's parts it has.
//!
//! The template is text with lines that choose, and with words that are put. `//@if parts tasks` keeps what follows
//! where one of the two is asked for, `//@if not parts` where none of those listed is, until `//@else` or `//@end`. A
//! step `// #.` of a list gets its number. The words `newcloud`, `newzone`, `newmachine`, `newdisk` and `newreset` stand
//! for the backend's own, `newcommand` for the command that makes the crate so.

use super::TEMPLATE;
use super::spelling::{Noun, Spelling};
use crate::flags::{self, Pages, Tasks};
use crate::outcome::{Outcome, Stop};

/// What a crate is to be like.
pub(super) struct Shape {
    pub(super) name: Spelling,
    /// A target, or a place that is none.
    target: Noun,
    instance: Noun,
    parts: Option<Noun>,
    reset: Option<String>,
    endpoints: bool,
    places: bool,
    tasks: Option<Tasks>,
    pages: Pages,
    /// The command that makes it.
    pub(super) command: String,
}

impl Shape {
    /// The shape that the flags ask for.
    pub(super) fn of(name: &str, flags: &flags::Shape) -> Outcome<Self> {
        let (flag, word) = match &flags.placement {
            Some(word) => ("placement", word.as_str()),
            None => ("target", flags.target.as_deref().unwrap_or("zone")),
        };
        let target = Noun::of(flag, word)?;
        let instance = Noun::of("instance", flags.instance.as_deref().unwrap_or("machine"))?;
        let parts = flags.parts.as_deref().map(|word| Noun::of("parts", word)).transpose()?;
        let words = [(flag, Some(&target)), ("instance", Some(&instance)), ("parts", parts.as_ref())];
        let words: Vec<_> = words.iter().filter_map(|(flag, noun)| Some((flag, (*noun)?))).collect();
        for (at, (flag, noun)) in words.iter().enumerate() {
            if let Some((other, _)) = words[..at].iter().find(|(_, earlier)| noun.clashes(earlier)) {
                let text = format!("--{flag} {:?}: it is the word of --{other} too; use another", noun.one);
                return Err(Stop::cannot(text));
            }
        }
        let name = Spelling::of(name, TEMPLATE)?;
        let command = command(&name, flags);
        let reset = flags.reset_header.as_deref().map(header).transpose()?;
        let flags::Shape { endpoint_per_target: endpoints, tasks, pages, .. } = *flags;
        let (places, pages) = (flags.placement.is_some(), pages.unwrap_or_default());
        Ok(Self { name, target, instance, parts, reset, endpoints, places, tasks, pages, command })
    }

    /// The template in this shape, by path.
    pub(super) fn rendered(&self) -> Vec<(String, String)> {
        let files = TEMPLATE.iter().filter(|(path, _)| match *path {
            "src/leftovers.rs" | "src/parts.rs" => self.parts.is_some(),
            "src/tasks.rs" => self.tasks.is_some(),
            _ => true,
        });
        files.map(|(path, text)| ((*path).to_owned(), self.render(text))).collect()
    }

    /// A text of the template in this shape.
    pub(super) fn render(&self, text: &str) -> String {
        self.put(&numbered(&self.chosen(text)))
    }

    /// The lines that this shape has.
    fn chosen(&self, text: &str) -> String {
        let mut chosen = String::new();
        let mut open: Vec<bool> = Vec::new();
        for line in text.lines() {
            let directive = line.trim_start().trim_start_matches(['/', '#']).strip_prefix('@');
            match directive.map(|directive| directive.split_whitespace().collect::<Vec<_>>()).as_deref() {
                None if open.iter().all(|keeps| *keeps) => chosen.extend([line, "\n"]),
                None => {}
                Some(["if", "not", any @ ..]) => open.push(!any.iter().any(|what| self.has(what))),
                Some(["if", any @ ..]) => open.push(any.iter().any(|what| self.has(what))),
                Some(["else"]) => open.iter_mut().rev().take(1).for_each(|keeps| *keeps = !*keeps),
                Some(["end"]) => drop(open.pop()),
                Some(_) => panic!("the template has a line that chooses nothing: {line}"),
            }
        }
        chosen
    }

    fn has(&self, what: &str) -> bool {
        match what {
            "zones" => !self.endpoints && !self.places,
            "endpoints" => self.endpoints,
            "places" => self.places,
            "instance" => self.instance.one != "machine",
            "parts" => self.parts.is_some(),
            "reset" => self.reset.is_some(),
            "tasks" => self.tasks.is_some(),
            "late" => self.tasks == Some(Tasks::Late),
            "wait" => self.tasks == Some(Tasks::Wait),
            "tokens" => self.pages == Pages::Token,
            "numbers" => self.pages == Pages::Number,
            "whole" => self.pages == Pages::None,
            _ => panic!("the template asks for {what:?}, which no flag gives"),
        }
    }

    /// The text with this shape's words in the place of the template's own. What is put is not read again: a word may
    /// have one of the template's in it.
    fn put(&self, text: &str) -> String {
        let Self { name, target, instance, parts, reset, command, .. } = self;
        let module = format!("provider_{}", name.snake);
        let mut words = vec![
            ("newcommand", command.as_str()),
            ("Newcloud", &name.camel),
            ("provider_newcloud", &module),
            ("newcloud", &name.kebab),
            ("newzones", &target.many),
            ("newzone", &target.one),
            ("newmachines", &instance.many),
            ("newmachine", &instance.one),
        ];
        words.extend(parts.iter().flat_map(|parts| [("newdisks", &*parts.many), ("newdisk", &*parts.one)]));
        words.extend(reset.iter().map(|reset| ("newreset", reset.as_str())));
        let (mut put, mut rest) = (String::new(), text);
        // Of two that stand in one place it is the longer one, which comes first.
        let next = |rest: &str| {
            let found = words.iter().filter_map(|(word, by)| Some((rest.find(word)?, *word, *by)));
            found.min_by_key(|(at, ..)| *at)
        };
        while let Some((at, word, by)) = next(rest) {
            put += &rest[..at];
            let article =
                put.strip_suffix("a ").is_some_and(|before| !before.ends_with(char::is_alphanumeric));
            if article && by.starts_with(['a', 'e', 'i', 'o']) {
                put.insert(put.len() - 1, 'n');
            }
            put += by;
            rest = &rest[at + word.len()..];
        }
        put + rest
    }
}

/// The command that makes such a crate.
fn command(name: &Spelling, flags: &flags::Shape) -> String {
    let mut command = format!("cargo xtask new-provider {}", name.kebab);
    let mut add = |flag: &str, word: Option<&str>| {
        command.extend(word.map(|word| format!(" --{flag} {word}").trim_end().to_owned()));
    };
    add("target", flags.target.as_deref());
    add("placement", flags.placement.as_deref());
    add("instance", flags.instance.as_deref());
    add("parts", flags.parts.as_deref());
    add("endpoint-per-target", flags.endpoint_per_target.then_some(""));
    let tasks = |tasks| if tasks == Tasks::Wait { "wait" } else { "" };
    add("tasks", flags.tasks.map(tasks));
    let pages = |pages| match pages {
        Pages::Token => "token",
        Pages::Number => "number",
        Pages::None => "none",
    };
    add("pages", flags.pages.map(pages));
    add("reset-header", flags.reset_header.as_deref());
    command
}

/// The name of a header as code compares it.
fn header(name: &str) -> Outcome<String> {
    let is_one = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if is_one {
        return Ok(name.to_ascii_lowercase());
    }
    Err(Stop::cannot(format!("--reset-header {name:?}: use letters, digits and dashes, a letter first")))
}

/// The text with a number for each step of a list.
fn numbered(text: &str) -> String {
    let mut number = 0;
    let mut line = |line: &str| match line.split_once("// #. ") {
        Some((indent, step)) => {
            number += 1;
            format!("{indent}// {number}. {step}\n")
        }
        None => {
            if !line.trim_start().starts_with("//") {
                number = 0;
            }
            format!("{line}\n")
        }
    };
    text.lines().map(&mut line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(name: &str, flags: flags::Shape) -> Shape {
        Shape::of(name, &flags).unwrap_or_else(|stop| panic!("{}", stop.says))
    }

    #[test]
    fn a_name_is_spelt_in_three_ways() {
        let text = "provider_newcloud::Newcloud, provider-newcloud, newcloud:";
        for (name, spelt) in [
            ("tiny-cloud9", "provider_tiny_cloud9::TinyCloud9, provider-tiny-cloud9, tiny-cloud9:"),
            ("my-newcloud2", "provider_my_newcloud2::MyNewcloud2, provider-my-newcloud2, my-newcloud2:"),
        ] {
            assert_eq!(shape(name, flags::Shape::default()).render(text), format!("{spelt}\n"));
        }
    }

    #[test]
    fn words_are_put_and_lines_chosen() {
        let text = "a newzone of newzones, NewMachine, newmachines\n  //@if parts\n  a newdisk\n  //@if not tasks\n  here\n  \
                    //@end\n  //@else\n  none\n  //@end\n  // #. x\n  //    y\n  // #. z\nend\n";
        let plain = shape("a", flags::Shape::default());
        let steps = "  // 1. x\n  //    y\n  // 2. z\nend\n";
        assert_eq!(plain.render(text), format!("a zone of zones, NewMachine, machines\n  none\n{steps}"));
        let word = |word: &str| Some(word.to_owned());
        let flags = flags::Shape {
            target: word("area"),
            instance: word("box"),
            parts: word("newzone"),
            endpoint_per_target: true,
            tasks: Some(Tasks::Late),
            ..flags::Shape::default()
        };
        let other = shape("a", flags);
        assert_eq!(other.render(text), format!("an area of areas, NewMachine, boxes\n  a newzone\n{steps}"));
        let command = "cargo xtask new-provider a --target area --instance box --parts newzone --endpoint-per-target --tasks";
        assert_eq!(other.command, command);
    }

    #[test]
    fn a_command_says_what_a_shape_is() {
        let flags = flags::Shape {
            placement: Some("site".to_owned()),
            tasks: Some(Tasks::Wait),
            pages: Some(Pages::Number),
            reset_header: Some("X-Reset".to_owned()),
            ..flags::Shape::default()
        };
        let other = shape("a", flags);
        let command =
            "cargo xtask new-provider a --placement site --tasks wait --pages number --reset-header X-Reset";
        assert_eq!(other.command, command);
        assert_eq!(other.render("newzone newreset newdisk"), "site x-reset newdisk\n");
        let flags = flags::Shape { reset_header: Some("x reset".to_owned()), ..flags::Shape::default() };
        let stop = Shape::of("a", &flags).err().map(|stop| stop.says).unwrap_or_default();
        assert!(stop.starts_with("--reset-header \"x reset\": "), "{stop}");
    }

    #[test]
    fn two_things_have_two_words() {
        let flags = flags::Shape { instance: Some("zone".to_owned()), ..flags::Shape::default() };
        let stop = Shape::of("a", &flags).err().map(|stop| stop.says);
        assert_eq!(stop.as_deref(), Some("--instance \"zone\": it is the word of --target too; use another"));
    }
}
