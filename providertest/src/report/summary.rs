//! Counts that several writers show: by group, by setup, over everything.

use std::collections::BTreeMap;

use super::{Report, RuleReport, SetupReport, Status};

/// The counts of some rules.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) rules: usize,
    pub(super) cases: usize,
    pub(super) millis: u64,
    counts: BTreeMap<Status, usize>,
}

impl Row {
    pub(super) fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    pub(super) fn count(&self, status: Status) -> usize {
        self.counts.get(&status).copied().unwrap_or(0)
    }

    fn add(&mut self, rule: &RuleReport) {
        self.rules += 1;
        self.cases += rule.cases;
        self.millis += rule.millis;
        *self.counts.entry(rule.status).or_default() += 1;
    }
}

/// One row a group, in the order of the table; rules of several setups count several times.
pub(super) fn by_group<'r>(rules: impl Iterator<Item = &'r RuleReport>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for rule in rules {
        let at = rows.iter().position(|row| row.name == rule.group());
        let at = at.unwrap_or_else(|| {
            rows.push(Row::named(rule.group()));
            rows.len() - 1
        });
        rows[at].add(rule);
    }
    rows
}

/// The row of one setup.
pub(super) fn of_setup(setup: &SetupReport) -> Row {
    let mut row = Row::named(setup.name.clone());
    setup.rules.iter().for_each(|rule| row.add(rule));
    row
}

/// The row over everything.
pub(super) fn total(report: &Report) -> Row {
    let mut row = Row::named("all");
    report.rules().for_each(|(_, rule)| row.add(rule));
    row
}

/// The statuses that tables have a column for: pass and fail always, the others where there is one.
pub(super) fn columns(total: &Row) -> Vec<Status> {
    let always = |status: Status| matches!(status, Status::Pass | Status::Fail);
    Status::ALL.into_iter().filter(|status| always(*status) || total.count(*status) > 0).collect()
}
