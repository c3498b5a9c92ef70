//! Which rules and setups the flags ask for.

use super::{Refusal, flags::Flags};
use crate::{
    harness::Harness,
    rule::{Check, Cost, Rule},
    rules,
    saboteur::{HONEST, Saboteur},
    saboteurs,
};

/// The rules that were asked for.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// They, in the order of the table.
    pub(crate) rules: Vec<&'static Rule>,
    /// Whether these are all there are.
    pub(crate) complete: bool,
    /// How many were left out.
    pub(crate) left_out: usize,
}

/// Selects rules.
pub(crate) fn select(flags: &Flags) -> Result<Selection, Refusal> {
    for id in &flags.rule {
        rule(id)?;
    }
    for group in &flags.group {
        if !groups().contains(&group.as_str()) {
            let hint = format!("the groups are {}", groups().join(", "));
            return Err(unknown("group", group, groups().into_iter(), &hint));
        }
    }
    if flags.plan.is_some() {
        replayable(flags)?;
    }
    let all = rules::table().count();
    let rules: Vec<_> = rules::table().filter(|rule| asked_for(rule, flags)).collect();
    // A filter is cargo's word to every test binary; what the suite's own flags ask for has to be there.
    if rules.is_empty() && flags.filters.is_empty() && flags.skip.is_empty() {
        return Err("no rule is left: --rule, --group and --sweep together ask for none".into());
    }
    Ok(Selection { complete: rules.len() == all, left_out: all - rules.len(), rules })
}

/// The rule of that id.
pub(crate) fn rule(id: &str) -> Result<&'static Rule, Refusal> {
    rules::find(id)
        .ok_or_else(|| unknown("rule", id, rules::table().map(|rule| rule.id), "--list shows all of them"))
}

/// Checks that every rule that the harness waives is there, and waived once.
pub(crate) fn waivers(harness: &dyn Harness) -> Result<(), Refusal> {
    for (index, (id, _)) in harness.waivers().iter().enumerate() {
        if rules::find(id).is_none() {
            let known = rules::table().map(|rule| rule.id);
            return Err(unknown(
                "rule, which the harness waives,",
                id,
                known,
                "take the waiver away or mend its id",
            ));
        }
        if harness.waivers()[..index].iter().any(|(other, _)| other == id) {
            return Err(Refusal(format!("the harness waives {id} twice; one reason is enough")));
        }
    }
    Ok(())
}

/// Checks that the setup that was asked for is there.
pub(crate) fn setup(flags: &Flags, harness: &dyn Harness) -> Result<(), Refusal> {
    let Some(name) = &flags.setup else { return Ok(()) };
    let setups = harness.setups();
    let known: Vec<_> = setups.iter().map(|setup| setup.name).collect();
    if known.contains(&name.as_str()) {
        return Ok(());
    }
    let hint = format!("the setups are {}", known.join(", "));
    Err(unknown("setup", name, known.into_iter(), &hint))
}

/// The saboteur that was asked for, or the honest one.
pub(crate) fn saboteur(flags: &Flags, harness: &dyn Harness) -> Result<Saboteur, Refusal> {
    let Some(name) = &flags.saboteur else { return Ok(HONEST) };
    if !harness.is_reference() {
        return Err(Refusal(format!(
            "saboteurs stand over the memory provider; run `cargo xtask conformance memory --saboteur {name}`, not {}",
            harness.provider()
        )));
    }
    let found = saboteurs::all().find(|saboteur| saboteur.name == name);
    found.copied().ok_or_else(|| {
        let known = saboteurs::all().map(|saboteur| saboteur.name);
        unknown("saboteur", name, known, "the rule table of the contract names all of them")
    })
}

fn replayable(flags: &Flags) -> Result<(), Refusal> {
    let [id] = flags.rule.as_slice() else {
        return Err("--plan needs the one --rule that it is a plan of".into());
    };
    let rule = rules::find(id).map(|rule| rule.check);
    match rule {
        Some(Check::Sweep { .. } | Check::Model(_)) => Ok(()),
        _ => Err(format!("{id} has one case and no plans; leave --plan out").into()),
    }
}

fn asked_for(rule: &Rule, flags: &Flags) -> bool {
    let in_rules = flags.rule.is_empty() || flags.rule.iter().any(|id| id == rule.id);
    let in_groups = flags.group.is_empty() || flags.group.iter().any(|group| group == rule.group());
    let matches =
        |filter: &String| if flags.exact { filter == rule.id } else { rule.id.contains(filter.as_str()) };
    in_rules
        && in_groups
        && (!flags.sweep || rule.cost() == Cost::Sweep)
        && (flags.filters.is_empty() || flags.filters.iter().any(matches))
        && !flags.skip.iter().any(matches)
        // What libtest calls ignored does not exist here.
        && !flags.ignored
}

fn groups() -> Vec<&'static str> {
    let mut groups: Vec<_> = rules::table().map(Rule::group).collect();
    groups.dedup();
    groups
}

fn unknown<'k>(what: &str, given: &str, known: impl Iterator<Item = &'k str>, hint: &str) -> Refusal {
    let nearest = known.map(|known| (distance(given, known), known)).min();
    let nearest = nearest.filter(|(distance, known)| *distance * 2 <= known.len().max(4));
    match nearest {
        Some((_, nearest)) => {
            format!("there is no {what} {given:?}; did you mean {nearest}? ({hint})").into()
        }
        None => format!("there is no {what} {given:?}; {hint}").into(),
    }
}

/// How many characters have to be put in, taken out or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, c) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, d) in other.iter().enumerate() {
            let changed = diagonal + usize::from(c != *d);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("create.idempotent", "create.idempotnet"), 2);
    }
}
