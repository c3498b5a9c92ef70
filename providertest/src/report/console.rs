//! The report for a person at a terminal, in colour there and plain in a pipe. The verdict comes last, where the eye
//! lands. The bar that moves meanwhile is in `cli/`.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{
    ABSENT, Evidence, NOT_RUN, Report, RuleReport, SetupReport, Status, StepKind, Verdict,
    summary::{self, Row},
    text::{self, Shown},
};

/// The width that texts are broken at.
const WIDTH: usize = 100;
/// How much of one text is shown.
const TEXT: usize = 1_200;
/// How much of one call is shown.
const LINE: usize = 240;
/// How many steps of a case are shown.
const STEPS: usize = 60;
/// How many things on the backend are shown.
const THINGS: usize = 16;
/// Where the texts of a red rule begin.
const INDENT: usize = 12;

/// The report as text for a terminal, with colours or without.
pub fn render(report: &Report, colour: bool) -> String {
    let mut page = Page { out: String::new(), paint: Paint(colour) };
    page.heading(report);
    page.tables(report);
    let mut told = BTreeSet::new();
    for (setup, rule) in report.rules().filter(|(_, rule)| rule.status.is_told()) {
        page.red(setup, rule, told.insert(rule.id));
    }
    page.left_out(report);
    page.verdicts(report);
    page.out
}

struct Page {
    out: String,
    paint: Paint,
}

impl Page {
    fn line(&mut self, line: impl AsRef<str>) {
        self.out.push_str(line.as_ref().trim_end());
        self.out.push('\n');
    }

    fn heading(&mut self, report: &Report) {
        let Report { provider, provider_version, contract, kit, backend, seed, .. } = report;
        let name = self.paint.bold(&text::one_line(provider));
        let backend = match backend {
            super::BackendKind::Fake => "the embedded fake",
            super::BackendKind::Real => "a real backend",
        };
        let version = text::one_line(provider_version);
        self.line(format!("{name} {version} on {backend} · contract {contract} · kit {kit} · seed {seed}"));
    }

    // --- tables

    fn tables(&mut self, report: &Report) {
        let total = summary::total(report);
        let groups = summary::by_group(report.rules().map(|(_, rule)| rule));
        self.table("group", &groups, &total);
        if report.setups.len() > 1 {
            let setups: Vec<_> = report.setups.iter().map(summary::of_setup).collect();
            self.table("setup", &setups, &total);
        }
    }

    fn table(&mut self, what: &str, rows: &[Row], total: &Row) {
        let columns = summary::columns(total);
        let names = rows.iter().map(|row| row.name.chars().count());
        let first = names.chain([what.len(), 13]).max().unwrap_or(0) + 2;
        let mut head = format!("  {what:first$}{:>7}", "rules");
        for status in &columns {
            let _ = write!(head, "{:>w$}", status.as_str(), w = width(*status));
        }
        let _ = write!(head, "{:>9}{:>11}", "cases", "time");
        self.line("");
        let head = self.paint.dim(&head);
        self.line(head);
        for row in rows {
            self.row(row, first, &columns);
        }
        if rows.len() > 1 {
            self.row(total, first, &columns);
        }
    }

    fn row(&mut self, row: &Row, first: usize, columns: &[Status]) {
        let mut line = format!("  {:first$}{:>7}", text::one_line(&row.name), row.rules);
        for status in columns {
            let count = row.count(*status);
            let cell = if count == 0 { "·".to_owned() } else { count.to_string() };
            let cell = format!("{cell:>w$}", w = width(*status));
            line += &if count == 0 { self.paint.dim(&cell) } else { self.paint.status(*status, &cell) };
        }
        let _ = write!(line, "{:>9}{:>11}", row.cases, text::duration(row.millis));
        self.line(line);
    }

    // --- what has to be mended

    /// A rule that is red in several setups is told whole for the first of them.
    fn red(&mut self, setup: &str, rule: &RuleReport, whole: bool) {
        self.line("");
        let status = self.paint.label(rule.status, &rule.status.as_str().to_uppercase());
        let (id, level) = (self.paint.bold(rule.id), rule.level.as_str());
        let caller = rule.caller.as_str();
        let about = format!("{level} · for {caller} · setup {}", text::one_line(setup));
        let about = self.paint.dim(&about);
        self.line(format!("  {status} {id}  {about}"));
        self.item("promised", rule.says, None);
        self.item(
            "seen",
            &text::cut(rule.reason.as_deref().unwrap_or("nothing was said"), TEXT),
            Some(rule.status),
        );
        if whole {
            self.item("why", rule.why, None);
            if let Some(evidence) = &rule.evidence {
                self.evidence(evidence);
            }
            self.item("docs", &format!("{}, or --explain {}", rule.docs(), rule.id), None);
        }
        let replay = rule.evidence.as_ref().map(|evidence| evidence.replay.as_str());
        if let Some(replay) = replay.filter(|replay| !replay.is_empty()) {
            // Never broken nor cut: it is there to be copied.
            let name = self.paint.dim(&format!("{:>w$}", "replay", w = INDENT - 2));
            let replay = self.paint.cyan(&text::one_line(replay));
            self.line(format!("{name}  {replay}"));
        }
    }

    fn evidence(&mut self, evidence: &Evidence) {
        let steps = &evidence.steps;
        let shown = text::shown(steps.len(), STEPS, |place| steps[place].fault.is_some());
        for (count, shown) in shown.into_iter().enumerate() {
            let name = if count == 0 { "steps" } else { "" };
            let line = match shown {
                Shown::LeftOut(count) => self.paint.dim(&format!("… {count} steps left out")),
                Shown::Place(place) => {
                    let step = &steps[place];
                    let line = brief(&step.text);
                    match (&step.fault, step.kind) {
                        (Some(fault), _) => {
                            let mark = self.paint.magenta(&format!("◀ {}", brief(fault)));
                            format!("{line}  {mark}")
                        }
                        (None, StepKind::Call) => line,
                        (None, StepKind::Story) => self.paint.bold(&line),
                    }
                }
            };
            self.named(name, &line);
        }
        if let Some(before) = &evidence.before {
            self.named("before", &format!("operation {} found", before.operation));
            self.things("", &before.backend);
        }
        self.things("after", &evidence.backend);
        if evidence.more > 0 {
            let more =
                format!("{} further {} of this rule", evidence.more, super::plural(evidence.more, "case"));
            self.item("also", &more, None);
        }
        self.item("mend", evidence.mend, None);
    }

    fn things(&mut self, name: &str, things: &[String]) {
        if things.is_empty() {
            return self.named(name, "nothing");
        }
        for (count, shown) in text::shown(things.len(), THINGS, |_| false).into_iter().enumerate() {
            let name = if count == 0 { name } else { "" };
            match shown {
                Shown::Place(place) => self.named(name, &brief(&things[place])),
                Shown::LeftOut(count) => {
                    let line = self.paint.dim(&format!("… {count} more things"));
                    self.named(name, &line);
                }
            }
        }
    }

    fn item(&mut self, name: &str, value: &str, status: Option<Status>) {
        for (count, line) in text::wrap(value, WIDTH - INDENT).into_iter().enumerate() {
            let line = status.map_or(line.clone(), |status| self.paint.status(status, &line));
            self.named(if count == 0 { name } else { "" }, &line);
        }
    }

    fn named(&mut self, name: &str, line: &str) {
        let name = self.paint.dim(&format!("{name:>w$}", w = INDENT - 2));
        self.line(format!("{name}  {line}"));
    }

    // --- what was not checked, with its reasons

    fn left_out(&mut self, report: &Report) {
        self.absent(report);
        for status in [Status::Waived, Status::Blocked] {
            for (reason, ids) in by_reason(report, status) {
                self.line("");
                let label = self.paint.label(status, &status.as_str().to_uppercase());
                if reason == NOT_RUN {
                    // A run that ended at its first red rule would name nearly all there are.
                    self.line(format!("  {label} {} rules were not run", ids.len()));
                    continue;
                }
                self.line(format!("  {label} {}", text::one_line(&text::cut(reason, TEXT))));
                for line in text::wrap(&ids.join(", "), WIDTH - INDENT) {
                    self.named("", &line);
                }
            }
        }
    }

    /// What is declared absent has been looked for, and the reader is told with what result.
    fn absent(&mut self, report: &Report) {
        let status = Status::Unsupported;
        let absent = by_reason(report, status);
        if absent.is_empty() {
            return;
        }
        self.line("");
        let label = self.paint.label(status, &status.as_str().to_uppercase());
        self.line(format!("  {label} {}", ABSENT.trim_end()));
        for (reason, ids) in absent {
            let found = text::cut(reason.strip_prefix(ABSENT).unwrap_or(reason), TEXT);
            for line in text::wrap(&format!("{}: {found}", ids.join(", ")), WIDTH - INDENT) {
                let line = self.paint.dim(&line);
                self.named("", &line);
            }
        }
    }

    // --- the verdict

    fn verdicts(&mut self, report: &Report) {
        self.line("");
        if report.setups.len() > 1 {
            let longest = report.setups.iter().map(|setup| setup.name.chars().count()).max().unwrap_or(0);
            for setup in &report.setups {
                self.verdict_of(setup, longest);
            }
            self.line("");
        }
        let total = summary::total(report);
        let mut counts: Vec<_> = Status::ALL
            .into_iter()
            .filter(|status| total.count(*status) > 0)
            .map(|status| format!("{} {status}", total.count(status)))
            .collect();
        if counts.is_empty() {
            counts.push("no rule was run".into());
        }
        let verdict = self.paint.verdict(&report.verdict, &report.verdict.to_string().to_uppercase());
        let provider = text::one_line(&report.provider).into_owned();
        self.line(format!(
            "  {verdict}  {provider}: {} in {}",
            counts.join(", "),
            text::duration(report.millis)
        ));
    }

    fn verdict_of(&mut self, setup: &SetupReport, longest: usize) {
        let verdict = self.paint.verdict(&setup.verdict, &setup.verdict.to_string());
        let name = text::one_line(&setup.name).into_owned();
        let version = text::one_line(&setup.backend_version).into_owned();
        let version = self.paint.dim(&version);
        self.line(format!("  {name:longest$}  {verdict}  {version}"));
    }
}

/// The reasons why rules have a status, each with those rules.
fn by_reason(report: &Report, status: Status) -> Vec<(&str, Vec<&'static str>)> {
    let mut by_reason: Vec<(&str, Vec<&'static str>)> = Vec::new();
    for (_, rule) in report.rules().filter(|(_, rule)| rule.status == status) {
        let reason = rule.reason.as_deref().unwrap_or("no reason was given");
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, ids)) if ids.contains(&rule.id) => {}
            Some((_, ids)) => ids.push(rule.id),
            None => by_reason.push((reason, vec![rule.id])),
        }
    }
    by_reason
}

/// A text on one line, cut to what a line of evidence may take.
fn brief(text: &str) -> String {
    text::one_line(&text::cut(text, LINE)).into_owned()
}

fn width(status: Status) -> usize {
    status.as_str().len().max(5) + 2
}

/// Colours, or none.
struct Paint(bool);

impl Paint {
    fn with(&self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }

    fn dim(&self, text: &str) -> String {
        self.with("2", text)
    }

    fn cyan(&self, text: &str) -> String {
        self.with("36", text)
    }

    fn magenta(&self, text: &str) -> String {
        self.with("1;35", text)
    }

    fn status(&self, status: Status, text: &str) -> String {
        self.with(hue(status), text)
    }

    /// A status as a word on a ground of its colour.
    fn label(&self, status: Status, text: &str) -> String {
        match self.0 {
            true => self.with(&format!("1;7;{}", hue(status)), &format!(" {text} ")),
            false => text.to_owned(),
        }
    }

    fn verdict(&self, verdict: &Verdict, text: &str) -> String {
        let hue = match verdict {
            Verdict::Conformant | Verdict::PartHolds { .. } => "32",
            Verdict::NoViolationFound { .. } => "33",
            Verdict::NotConformant => "31",
        };
        self.with(&format!("1;{hue}"), text)
    }
}

fn hue(status: Status) -> &'static str {
    match status {
        Status::Pass => "32",
        Status::Fail => "31",
        Status::Error => "35",
        Status::Provisional | Status::Waived | Status::Blocked => "33",
        Status::Unsupported | Status::ByType => "36",
    }
}
