//! The binary as its users meet it: flags in, text and exit code out.

use super::*;
use crate::{
    report::tests::{because, report, rule, setup},
    rules,
};

fn flags(words: &[&str]) -> Flags {
    Flags::try_parse_from(std::iter::once(&"conformance").chain(words)).expect("the flags are well formed")
}

fn refused(words: &[&str]) -> String {
    match select::select(&flags(words)) {
        Err(Refusal(why)) => why,
        Ok(selection) => panic!("{words:?} selected {} rules", selection.rules.len()),
    }
}

fn ids(words: &[&str]) -> Vec<&'static str> {
    let selection = select::select(&flags(words)).expect("there are such rules");
    selection.rules.iter().map(|rule| rule.id).collect()
}

#[test]
fn the_flags_make_sense_to_clap() {
    use clap::CommandFactory;
    Flags::command().debug_assert();
}

#[test]
fn unknown_ids_are_told_the_nearest() {
    let why = refused(&["--rule", "create.idempotnt"]);
    assert_eq!(
        why,
        "there is no rule \"create.idempotnt\"; did you mean create.idempotent? (--list shows all of them)"
    );
    assert!(refused(&["--group", "creat"]).contains("did you mean create?"));
    assert!(refused(&["--rule", "zzz"]).contains("--list"));
}

#[test]
fn a_self_check_refuses_what_it_would_ignore() {
    for words in [["--backend", "real"], ["--config", "x"], ["--setup", "x"], ["--fail-fast", "--quiet"]] {
        let all = ["conformance", "--self-check"].into_iter().chain(words);
        assert!(Flags::try_parse_from(all).is_err(), "{words:?}");
    }
    let harness: Arc<dyn Harness> = Arc::new(crate::memory::MemoryHarness::new());
    let nothing = flags(&["--self-check", "no_such_rule"]);
    assert_eq!(command(harness, &nothing, "conformance"), Code::Usage);
}

#[test]
fn flags_that_would_be_passed_over_are_refused() {
    for words in [["--config", "x", "--jobs", "1"], ["--json", "x", "--junit", "x"]] {
        let harness: Arc<dyn Harness> = Arc::new(crate::memory::MemoryHarness::new());
        let flags = flags(&[&words[..], &["--rule", "create.idempotent"]].concat());
        assert_eq!(command(harness, &flags, "conformance"), Code::Usage, "{words:?}");
    }
}

#[test]
fn pages_take_no_flags_of_a_run() {
    let refuses = |words: &[&str]| {
        let refusal = Flags::try_parse_from(std::iter::once(&"conformance").chain(words)).map(drop);
        let refusal = refusal.err().unwrap_or_else(|| panic!("{words:?} is passed over")).to_string();
        assert!(refusal.contains("cannot be used with"), "{words:?}: {refusal}");
    };
    let of_a_run: [&[&str]; 11] = [
        &["--json", "f"],
        &["--junit", "f"],
        &["--html", "f"],
        &["--seed", "7"],
        &["--jobs", "2"],
        &["--setup", "s"],
        &["--fail-fast"],
        &["--saboteur", "s"],
        &["--config", "f"],
        &["--backend", "fake"],
        &["--plan", r#"{"faults":[],"variant":"1","then":"repeat"}"#],
    ];
    let pages: [&[&str]; 5] = [
        &["--list"],
        &["--explain", "create.idempotent"],
        &["--print-rule-table"],
        &["--print-rules"],
        &["--print-profile"],
    ];
    for (at, page) in pages.iter().enumerate() {
        of_a_run.iter().for_each(|flags| refuses(&[page, *flags].concat()));
        pages[..at].iter().for_each(|other| refuses(&[page, *other].concat()));
        refuses(&[page, &["--self-check"][..]].concat());
        if at > 0 {
            for selecting in [&["--rule", "a"][..], &["--group", "a"], &["--sweep"], &["filter"]] {
                refuses(&[page, selecting].concat());
            }
        }
        // What cargo and runners pass on to every test binary is harmless.
        let harmless = [page, &["--quiet", "--color", "never", "--nocapture"][..]].concat();
        assert!(Flags::try_parse_from(std::iter::once(&"conformance").chain(&harmless)).is_ok());
    }
    let runners: &[&str] = &["--list", "--format", "terse", "--ignored", "--exact", "--skip", "a", "filter"];
    assert!(Flags::try_parse_from(std::iter::once(&"conformance").chain(runners)).is_ok());
    refuses(&["--jobs", "2", "--test-threads", "3"]);
    refuses(&["--self-check", "--junit", "f"]);
}

#[test]
fn plans_need_their_rule() {
    let plan = r#"{"faults":[],"variant":"1","then":"repeat"}"#;
    assert!(refused(&["--plan", plan]).contains("--plan needs the one --rule"));
    assert!(refused(&["--plan", plan, "--rule", "create.idempotent"]).contains("has one case and no plans"));
    assert_eq!(ids(&["--plan", plan, "--rule", "create.cancel-safe"]), ["create.cancel-safe"]);
    let nonsense = Flags::try_parse_from(["conformance", "--plan", "nonsense"]).unwrap_err().to_string();
    assert!(nonsense.contains("it is not a fault plan"), "{nonsense}");
}

#[test]
fn selections_narrow_each_other() {
    let all = rules::table().count();
    let selection = select::select(&flags(&[])).unwrap();
    assert!(selection.complete && selection.rules.len() == all);
    let sweeps = ids(&["--sweep", "--group", "create"]);
    assert!(sweeps.contains(&"create.cancel-safe") && !sweeps.contains(&"create.idempotent"));
    assert!(refused(&["--sweep", "--rule", "create.idempotent"]).contains("no rule is left"));
}

#[test]
fn what_cargo_test_passes_on_is_understood() {
    let all = [
        "--nocapture",
        "--quiet",
        "--test-threads",
        "3",
        "--format",
        "pretty",
        "--color",
        "never",
        "idempotent",
    ];
    assert!(ids(&all).contains(&"create.idempotent"));
    assert_eq!(ids(&["--exact", "create.idempotent"]), ["create.idempotent"]);
    assert!(!ids(&["--skip", "idempotent"]).contains(&"create.idempotent"));
    // A filter for somebody else's tests leaves nothing, and that is no mistake.
    let nothing = select::select(&flags(&["name_of_a_unit_test"])).unwrap();
    assert!(nothing.rules.is_empty());
    assert!(libtest::nothing(&nothing).contains(&format!("{} filtered out", nothing.left_out)));
}

#[test]
fn rules_are_listed_for_readers_and_for_runners() {
    let selection = select::select(&flags(&["--rule", "create.idempotent"])).unwrap();
    let listed = print::list(&selection.rules);
    assert!(
        listed.starts_with("create.idempotent  MUST    fast   reconciler      Creating again"),
        "{listed}"
    );
    assert_eq!(libtest::list(&selection, &flags(&[])), "create.idempotent: test\n");
    assert_eq!(libtest::list(&selection, &flags(&["--ignored"])), "");
}

#[test]
fn the_rule_table_has_every_rule_once() {
    let table = print::rule_table();
    for rule in rules::table() {
        assert_eq!(table.matches(&format!("(rules.md#{})", rule.id)).count(), 1, "{}", rule.id);
    }
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(table.lines().filter(|line| line.starts_with('|')).all(|line| columns(line) == 7));
}

#[test]
fn every_rule_has_a_page_that_names_a_fix() {
    let pages = pages::all();
    for rule in rules::table() {
        let id = rule.id;
        assert_eq!(pages.matches(&format!("<a id=\"{id}\">")).count(), 1, "{id}");
        for (what, text) in [("why", rule.why), ("tested", rule.tested), ("mend", rule.mend)] {
            assert!(text.len() > 40 && text.ends_with(['.', '?']), "{id} says too little of {what}: {text}");
        }
        let explained = pages::explain(rule);
        for name in ["promised", "why", "tested", "mend"] {
            assert!(explained.contains(name), "{id}: {explained}");
        }
    }
}

#[test]
fn exit_codes_and_the_line_for_runners_agree_with_the_report() {
    let all = select::select(&flags(&[])).unwrap();
    let part = select::select(&flags(&["--group", "create"])).unwrap();
    let pass = || rule("create.idempotent", Status::Pass);
    let blocked = || because("create.bounded", Status::Blocked, "no hand");
    let fail = || because("create.bounded", Status::Fail, "too long");
    let provisional = || because("create.bounded", Status::Provisional, "too long");
    let of = |verdict: Verdict, rules: Vec<_>| report(verdict.clone(), vec![setup("v1", verdict, rules)]);
    let open = Verdict::NoViolationFound { blocked: 1 };
    let cases = [
        (Verdict::Conformant, vec![pass()], &all, Code::Good, "ok. 1 passed; 0 failed; 0 ignored"),
        (
            Verdict::NotConformant,
            vec![pass(), fail()],
            &all,
            Code::Bad,
            "FAILED. 1 passed; 1 failed; 0 ignored",
        ),
        (
            Verdict::NotConformant,
            vec![pass(), blocked()],
            &all,
            Code::Bad,
            "FAILED. 1 passed; 0 failed; 1 ignored",
        ),
        (
            Verdict::NotConformant,
            vec![pass(), blocked()],
            &part,
            Code::LeftOut,
            "FAILED. 1 passed; 0 failed; 1 ignored",
        ),
        (
            Verdict::NotConformant,
            vec![blocked()],
            &part,
            Code::LeftOut,
            "FAILED. 0 passed; 0 failed; 1 ignored",
        ),
        (open.clone(), vec![pass(), blocked()], &all, Code::Good, "ok. 1 passed; 0 failed; 1 ignored"),
        (open, vec![pass(), blocked()], &part, Code::LeftOut, "FAILED. 1 passed; 0 failed; 1 ignored"),
        (
            Verdict::Conformant,
            vec![pass(), provisional()],
            &all,
            Code::Good,
            "ok. 1 passed; 0 failed; 1 ignored",
        ),
        (
            Verdict::NotConformant,
            vec![provisional()],
            &part,
            Code::Bad,
            "FAILED. 0 passed; 0 failed; 1 ignored",
        ),
        (Verdict::NotConformant, vec![], &all, Code::Bad, "FAILED. 0 passed; 0 failed; 0 ignored"),
    ];
    for (verdict, rules, selection, expected, line) in cases {
        let report = of(verdict, rules);
        let code = code(&report, selection);
        assert_eq!(code, expected, "{report:?}");
        assert!(libtest::result(&report, code, selection).contains(line), "{line}");
    }
}

#[test]
fn a_rule_counts_once_over_all_setups() {
    let unsupported = || because("create.bounded", Status::Unsupported, "declared absent, and found absent");
    let setups = vec![
        setup("v1", Verdict::Conformant, vec![rule("create.bounded", Status::Pass), unsupported()]),
        setup("v2", Verdict::Conformant, vec![unsupported(), rule("create.idempotent", Status::Unsupported)]),
    ];
    let report = report(Verdict::Conformant, setups);
    let selection = select::select(&flags(&[])).unwrap();
    assert!(libtest::result(&report, Code::Good, &selection).contains("ok. 1 passed; 0 failed; 1 ignored"));
    assert_eq!(
        libtest::lines(&report),
        "test create.bounded ... ok\ntest create.idempotent ... ignored, unsupported\n\n"
    );
}

#[test]
fn a_plan_that_would_do_nothing_is_refused() {
    let parse = |plan: &str| Flags::try_parse_from(["conformance", "--plan", plan]).map(drop);
    let error = parse(r#"{"faults":[],"then":"repeat"}"#).expect_err("it replays nothing").to_string();
    assert!(error.contains("nothing to replay"), "{error}");
    assert!(parse(r#"{"faults":[],"then":"delete","variant":"1"}"#).is_ok());
    assert!(parse("{").is_err());
}

#[test]
fn waivers_name_rules_that_there_are_once() {
    struct Waiving(&'static [(&'static str, &'static str)]);
    #[async_trait::async_trait]
    impl Harness for Waiving {
        fn provider(&self) -> &'static str {
            "waiving"
        }
        fn version(&self) -> &'static str {
            "0"
        }
        fn setups(&self) -> Vec<crate::harness::Setup> {
            Vec::new()
        }
        async fn open(
            &self,
            _: &crate::harness::Setup,
            _: &crate::harness::Case,
        ) -> Result<Box<dyn crate::harness::Backend>, crate::harness::HarnessError> {
            Err(crate::harness::HarnessError("there is none".into()))
        }
        fn waivers(&self) -> &'static [(&'static str, &'static str)] {
            self.0
        }
    }
    let why = |waivers| select::waivers(&Waiving(waivers)).err().map(|Refusal(why)| why).unwrap_or_default();
    assert_eq!(why(&[("create.idempotent", "it cannot")]), "");
    assert!(why(&[("create.idempotnt", "it cannot")]).contains("did you mean create.idempotent"));
    assert!(why(&[("get.read-only", "a"), ("get.read-only", "b")]).contains("twice"));
}
