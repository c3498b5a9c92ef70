//! How a Proxy is published, and what is taken away again.

use super::*;

fn published_as(secret: &str) -> Value {
    json!({ "provider": "alpha", "cloudInit": { "inline": "a" }, "connectionSecret": secret })
}

impl Life {
    /// One that is about to be published in `s`: everything else about it is settled.
    fn to_be_published() -> (Self, Digest) {
        let mut life = Self::new();
        life.edit(published_as("s"));
        life.creates();
        life.made(ID);
        life.gets(ID);
        life.is(State::Running { address: ADDRESS });
        let digest = life.publishes("s");
        (life, digest)
    }

    fn publishes(&mut self, name: &str) -> Digest {
        match self.goes_on() {
            Action::Publish { secret, digest } if secret == name => digest,
            action => panic!("{action:?} instead of publishing in {name}"),
        }
    }

    fn withdraws(&mut self, name: &str) {
        match self.goes_on() {
            Action::Withdraw(secret) if secret == name => self.memory.withdrawn(secret),
            action => panic!("{action:?} instead of taking {name} away"),
        }
    }

    fn recorded(&self) -> Option<&str> {
        self.proxy.status.connection_secret.as_deref()
    }
}

#[test]
fn one_that_runs_is_published_once_and_the_name_is_recorded_in_a_write_that_is_due_anyway() {
    let mut plain = Life::running();
    plain.waits();
    let (mut life, digest) = Life::to_be_published();
    assert_eq!(life.recorded(), Some("s"), "before the Secret is made");
    life.memory.published(digest, Published::Done);
    life.waits();
    assert_eq!(life.writes, plain.writes, "publishing takes no write of the Proxy");
    life.passes(life.settings.running_poll);
    life.gets(ID);
    life.is(State::Running { address: ADDRESS });
    life.waits();
    assert_eq!(life.writes, plain.writes);
}

#[test]
fn one_that_does_not_run_is_not_published() {
    let mut life = Life::new();
    life.edit(published_as("s"));
    life.creates();
    life.made(ID);
    life.gets(ID);
    life.is(provisioning());
    life.waits();
    assert_eq!(life.recorded(), None);
}

#[test]
fn another_address_is_published_anew() {
    let (mut life, digest) = Life::to_be_published();
    life.memory.published(digest.clone(), Published::Done);
    life.waits();
    life.passes(life.settings.running_poll);
    life.gets(ID);
    life.is(State::Running { address: std::net::IpAddr::from([10, 0, 0, 8]) });
    assert_ne!(life.publishes("s"), digest);
}

#[test]
fn a_restart_looks_again_and_writes_nothing() {
    let (mut life, digest) = Life::to_be_published();
    life.memory.published(digest.clone(), Published::Done);
    life.waits();
    let writes = life.writes;
    life.restarts();
    life.gets(ID);
    life.is(State::Running { address: ADDRESS });
    assert_eq!(life.publishes("s"), digest);
    assert_eq!(life.writes, writes);
}

#[test]
fn a_secret_that_somebody_has_touched_is_looked_at_again() {
    let (mut life, digest) = Life::to_be_published();
    life.memory.published(digest.clone(), Published::Done);
    life.waits();
    life.memory.publish_again();
    assert_eq!(life.publishes("s"), digest);
}

#[test]
fn a_secret_that_the_spec_names_no_more_is_taken_away_without_touching_the_instance() {
    for (other, then) in [(json!(null), None), (json!("t"), Some("t"))] {
        let (mut life, digest) = Life::to_be_published();
        life.memory.published(digest, Published::Done);
        life.waits();
        let mut spec = published_as("s");
        spec["connectionSecret"] = other;
        life.edit(spec);
        life.withdraws("s");
        match then {
            Some(name) => drop(life.publishes(name)),
            None => drop(life.waits()),
        }
        assert_eq!(life.recorded(), then);
        assert!(life.proxy.status.instance.is_some());
    }
}

#[test]
fn a_crash_before_the_name_is_forgotten_takes_it_away_again() {
    let (mut life, digest) = Life::to_be_published();
    life.memory.published(digest, Published::Done);
    life.waits();
    life.edit(spec("alpha", "a"));
    life.withdraws("s");
    life.restarts();
    life.withdraws("s");
}

#[test]
fn a_secret_whose_removal_was_not_answered_is_published_anew_once_it_is_asked_for_again() {
    let (mut life, digest) = Life::to_be_published();
    life.memory.published(digest.clone(), Published::Done);
    life.waits();
    life.edit(spec("alpha", "a"));
    assert_eq!(life.goes_on(), Action::Withdraw("s".to_owned()), "it is done, and the answer is lost");
    life.edit(published_as("s"));
    assert_eq!(life.publishes("s"), digest);
}

#[test]
fn a_spec_that_cannot_be_used_takes_nothing_away() {
    let (mut life, digest) = Life::to_be_published();
    life.memory.published(digest, Published::Done);
    life.waits();
    life.edit(json!({ "provider": "alpha" }));
    life.waits();
    assert_eq!(life.recorded(), Some("s"));
}

#[test]
fn a_secret_that_is_not_ours_is_said_once_and_it_goes_on_once_that_is_gone() {
    let (mut life, digest) = Life::to_be_published();
    life.memory.published(digest.clone(), Published::Taken);
    life.waits();
    assert_eq!(life.condition(ConditionKind::Progressing), (Truth::False, "ConnectionSecretTaken"));
    assert_eq!(life.condition(ConditionKind::Ready).0, Truth::True, "it runs all the same");
    let told = |life: &Life| life.notes.iter().filter(|note| note.reason == "ConnectionSecretTaken").count();
    assert_eq!(told(&life), 1);
    // Another process finds the same, and writes nothing.
    let writes = life.writes;
    life.restarts();
    life.gets(ID);
    life.is(State::Running { address: ADDRESS });
    assert_eq!(life.publishes("s"), digest);
    life.memory.published(digest.clone(), Published::Taken);
    life.waits();
    assert_eq!((life.writes, told(&life)), (writes, 1));
    life.memory.publish_again();
    life.publishes("s");
    life.memory.published(digest, Published::Done);
    life.waits();
    assert_eq!(life.condition(ConditionKind::Progressing), (Truth::False, "Settled"));
}
