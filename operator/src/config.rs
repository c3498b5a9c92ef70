//! The operator's own keys at the top of its config file, beside `providers`. Whatever can be left out has the default that
//! is documented where it is used.

use std::num::NonZeroU32;

use ipnet::IpNet;
use provider_api::{Identity, InstallationId, config::Fields};

use crate::{
    backoff::Backoff,
    collector, election,
    health::{provider, proxy},
    shell::Brakes,
    step,
};

/// What the config says of the operator itself.
///
/// ```
/// use std::{cell::OnceCell, sync::Arc};
/// use provider_api::{Context, InstallationId, ProviderName, Registry};
/// use proxy_operator::config::Config;
/// # use std::time::Duration;
/// # use futures::future::BoxFuture;
/// # use provider_api::{Clock, Spawner, Timestamp, Wait};
/// # struct Machine;
/// # impl Clock for Machine {
/// #     fn now(&self) -> Timestamp { Timestamp::UNIX_EPOCH }
/// #     fn monotonic(&self) -> Duration { Duration::ZERO }
/// #     fn sleep(&self, _: Duration, _: Wait) -> BoxFuture<'static, ()> { Box::pin(std::future::pending()) }
/// # }
/// # impl Spawner for Machine {
/// #     fn spawn(&self, _: BoxFuture<'static, ()>) {}
/// #     fn spawn_blocking(&self, _: Box<dyn FnOnce() + Send>) {}
/// # }
///
/// let yaml = "{defaultAllowedSources: [10.0.0.0/8], probe: {interval: 10s}, providers: []}";
/// // What the file does not say is the UID of the namespace `kube-system`.
/// let cluster = InstallationId::parse("0f0c9b2e-0c26-4c2c-9a5f-3f8a3c1d6c11").unwrap();
/// let config = OnceCell::new();
/// let registry = Registry::default();
/// let providers = registry.load(
///     yaml,
///     |top| drop(Config::read(top).map(|read| config.set(read))),
///     |name: &ProviderName| {
///         let identity = config.get().map(|config| config.identity(&cluster));
///         let identity = identity.unwrap_or_else(|| provider_api::Identity::new(cluster.clone()));
///         Context::new(name.clone(), identity, Arc::new(Machine), Arc::new(Machine))
///     },
/// );
/// assert!(providers.is_ok());
/// assert_eq!(config.get().unwrap().probe.interval.as_secs(), 10);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `installation`: whose instances are ours; the UID of the namespace `kube-system`, where it is left out.
    pub installation: Option<InstallationId>,
    /// `adoptInstallations`: the former selves of this cluster.
    pub adopt_installations: Vec<InstallationId>,
    /// `defaultAllowedSources`, which must be there: who may use proxies whose spec does not say so.
    pub default_allowed_sources: Vec<IpNet>,
    /// `reconcile`: how long things may take.
    pub reconcile: step::Settings,
    /// `brakes`: how many instances are replaced for their health.
    pub brakes: Brakes,
    /// `collector`: what has no owner.
    pub collector: collector::Settings,
    /// `providerHealth`: how providers are checked.
    pub provider_health: provider::Settings,
    /// `probe`: how proxies are probed.
    pub probe: proxy::Settings,
    /// `probe.url`: what is asked for through them; without it a connection is all that is made.
    pub probe_url: Option<proxy::ProbeUrl>,
    /// `election`: how long leadership holds.
    pub election: election::Terms,
    /// `inputsEvery`: what lies between looks at config and credential files, 10 s.
    pub inputs_every: std::time::Duration,
}

impl Config {
    /// Reads the keys; `None` when one that must be there is not. Whatever is wrong is reported.
    pub fn read(top: &mut Fields<'_>) -> Option<Self> {
        let installation = top.optional("installation");
        let adopt_installations = top.or("adoptInstallations", Vec::new());
        let sources = top.required::<Vec<IpNet>>("defaultAllowedSources");
        if sources.as_ref().is_some_and(Vec::is_empty) {
            let message = "is empty; say who may use proxies whose spec does not, such as [10.0.0.0/8]";
            top.problem("defaultAllowedSources", message);
        }
        let reconcile = top.section("reconcile").map(|mut own| reconcile(&mut own)).unwrap_or_default();
        let brakes = top.section("brakes").map(|mut own| brakes(&mut own)).unwrap_or_default();
        let collector = top.section("collector").map(|mut own| collector(&mut own)).unwrap_or_default();
        let provider_health = top.section("providerHealth").map(|mut own| provider_health(&mut own));
        let (probe, probe_url) = top.section("probe").map(|mut own| probe(&mut own)).unwrap_or_default();
        let election = top.section("election").map(|mut own| election(&mut own)).unwrap_or_default();
        let inputs_every = top.or("inputsEvery", std::time::Duration::from_secs(10));
        Some(Self {
            installation,
            adopt_installations,
            default_allowed_sources: sources?,
            reconcile,
            brakes,
            collector,
            provider_health: provider_health.unwrap_or_default(),
            probe,
            probe_url,
            election,
            inputs_every,
        })
    }

    /// Whose instances are ours; `cluster` stands in where the config does not say.
    pub fn identity(&self, cluster: &InstallationId) -> Identity {
        let installation = self.installation.as_ref().unwrap_or(cluster).clone();
        Identity { installation, adopt: self.adopt_installations.clone() }
    }
}

fn reconcile(own: &mut Fields<'_>) -> step::Settings {
    let step::Settings {
        provisioning_timeout,
        polls,
        running_poll,
        backoff,
        quota_retry,
        slow_retry,
        unhealthy_after,
        steady_after,
    } = step::Settings::default();
    let settings = step::Settings {
        provisioning_timeout: own.or("provisioningTimeout", provisioning_timeout),
        polls: own.or("polls", polls),
        running_poll: own.or("runningPoll", running_poll),
        backoff: Backoff {
            first: own.or("backoffFirst", backoff.first),
            most: own.or("backoffMost", backoff.most),
        },
        quota_retry: own.or("quotaRetry", quota_retry),
        slow_retry: own.or("slowRetry", slow_retry),
        unhealthy_after: own.or("unhealthyAfter", unhealthy_after),
        steady_after: own.or("steadyAfter", steady_after),
    };
    if settings.polls.is_empty() {
        own.problem("polls", "is empty; expected at least one duration such as 10s");
    }
    if settings.backoff.first > settings.backoff.most {
        own.problem("backoffFirst", "is longer than backoffMost");
    }
    settings
}

fn brakes(own: &mut Fields<'_>) -> Brakes {
    let Brakes { max_replacing, max_replacing_percent, freeze_at_percent } = Brakes::default();
    let brakes = Brakes {
        max_replacing: own.or("maxReplacing", max_replacing),
        max_replacing_percent: own.or("maxReplacingPercent", max_replacing_percent),
        freeze_at_percent: own.or("freezeAtPercent", freeze_at_percent),
    };
    for (key, percent) in
        [("maxReplacingPercent", brakes.max_replacing_percent), ("freezeAtPercent", brakes.freeze_at_percent)]
    {
        if percent > 100 {
            own.problem(key, format!("{percent} is more than all of them; expected 0 to 100"));
        }
    }
    brakes
}

fn collector(own: &mut Fields<'_>) -> collector::Settings {
    let collector::Settings { every, limits, dry_run, patience } = collector::Settings::default();
    collector::Settings {
        every: own.or("every", every),
        limits: collector::Limits {
            min_age: own.or("minAge", limits.min_age),
            most: own.or("maxPerRound", limits.most),
        },
        dry_run: own.or("dryRun", dry_run),
        patience: own.or("patience", patience),
    }
}

fn provider_health(own: &mut Fields<'_>) -> provider::Settings {
    let provider::Settings { every, deadline } = provider::Settings::default();
    let settings =
        provider::Settings { every: own.or("every", every), deadline: own.or("deadline", deadline) };
    if settings.deadline >= settings.every {
        own.problem("deadline", "is not shorter than every: a check would still go on when the next is due");
    }
    settings
}

fn probe(own: &mut Fields<'_>) -> (proxy::Settings, Option<proxy::ProbeUrl>) {
    let proxy::Settings { interval, timeout, threshold } = proxy::Settings::default();
    let given = own.or("threshold", threshold.get());
    let settings = proxy::Settings {
        interval: own.or("interval", interval),
        timeout: own.or("timeout", timeout),
        threshold: NonZeroU32::new(given).unwrap_or(threshold),
    };
    if given == 0 {
        own.problem("threshold", "0 is out of range; expected at least 1");
    }
    if settings.timeout > settings.interval {
        own.problem("timeout", "is longer than the interval: the next probe would be due before it ends");
    }
    let url = own.optional::<String>("url").and_then(|text| match proxy::ProbeUrl::parse(&text) {
        Ok(url) => Some(url),
        Err(error) => {
            own.problem("url", error.to_string());
            None
        }
    });
    (settings, url)
}

fn election(own: &mut Fields<'_>) -> election::Terms {
    let election::Terms { lease, deadline, retry } = election::Terms::default();
    let terms = election::Terms {
        lease: own.or("lease", lease),
        deadline: own.or("deadline", deadline),
        retry: own.or("retry", retry),
    };
    // Clocks whose rates differ by 5 % each way still leave no moment in which two lead.
    if terms.deadline.mul_f64(1.05) >= terms.lease.mul_f64(0.95) {
        own.problem("deadline", "is not shorter than the lease by a tenth: two could lead at once");
    }
    if terms.retry.saturating_mul(2) > terms.deadline {
        own.problem("retry", "leaves no time for a second attempt before the deadline");
    }
    terms
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use provider_api::config;

    use super::*;

    fn read(yaml: &str) -> Result<Config, String> {
        config::read(yaml, Config::read).map_err(|report| report.to_string())
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let config = read("defaultAllowedSources: [10.0.0.0/8, 'fd00::/8']").unwrap();
        assert_eq!(config.default_allowed_sources.len(), 2);
        assert_eq!(config.reconcile, step::Settings::default());
        assert_eq!(config.brakes, Brakes::default());
        assert_eq!(config.collector, collector::Settings::default());
        assert_eq!(config.provider_health, provider::Settings::default());
        assert_eq!((config.probe, config.probe_url), (proxy::Settings::default(), None));
        assert_eq!(config.election, election::Terms::default());
        assert_eq!(config.inputs_every, Duration::from_secs(10));
    }

    #[test]
    fn a_file_without_default_allowed_sources_is_refused() {
        assert!(read("{}").unwrap_err().contains("defaultAllowedSources: is missing"));
        assert!(read("defaultAllowedSources: []").unwrap_err().contains("defaultAllowedSources: is empty"));
    }

    #[test]
    fn every_value_can_be_set() {
        let config = read(
            "
installation: cluster-2
adoptInstallations: [cluster-1]
defaultAllowedSources: [10.0.0.0/8]
reconcile:
  provisioningTimeout: 1m
  polls: [3s]
  runningPoll: 4s
  backoffFirst: 5s
  backoffMost: 6s
  quotaRetry: 7s
  slowRetry: 8s
  unhealthyAfter: 9s
  steadyAfter: 10s
brakes: {maxReplacing: 1, maxReplacingPercent: 2, freezeAtPercent: 3}
collector: {every: 11s, minAge: 12s, maxPerRound: 13, dryRun: true, patience: 14s}
providerHealth: {every: 16s, deadline: 15s}
probe: {interval: 18s, timeout: 17s, threshold: 19, url: 'http://probe.example/'}
election: {lease: 40s, deadline: 20s, retry: 5s}
inputsEvery: 21s
",
        )
        .unwrap();
        let seconds = Duration::from_secs;
        let cluster = InstallationId::parse("kube-system").unwrap();
        let identity = config.identity(&cluster);
        assert_eq!((identity.installation.as_str(), identity.adopt.len()), ("cluster-2", 1));
        assert_eq!(
            config.reconcile,
            step::Settings {
                provisioning_timeout: seconds(60),
                polls: vec![seconds(3)],
                running_poll: seconds(4),
                backoff: Backoff { first: seconds(5), most: seconds(6) },
                quota_retry: seconds(7),
                slow_retry: seconds(8),
                unhealthy_after: seconds(9),
                steady_after: seconds(10),
            }
        );
        assert_eq!(
            config.brakes,
            Brakes { max_replacing: 1, max_replacing_percent: 2, freeze_at_percent: 3 }
        );
        assert_eq!(
            config.collector,
            collector::Settings {
                every: seconds(11),
                limits: collector::Limits { min_age: seconds(12), most: 13 },
                dry_run: true,
                patience: seconds(14),
            }
        );
        assert_eq!(config.provider_health, provider::Settings { every: seconds(16), deadline: seconds(15) });
        let threshold = NonZeroU32::new(19).unwrap();
        assert_eq!(config.probe, proxy::Settings { interval: seconds(18), timeout: seconds(17), threshold });
        assert_eq!(config.probe_url.unwrap().as_str(), "http://probe.example/");
        let terms = election::Terms { lease: seconds(40), deadline: seconds(20), retry: seconds(5) };
        assert_eq!((config.election, config.inputs_every), (terms, seconds(21)));
    }

    #[test]
    fn the_identity_is_the_clusters_unless_the_file_says_another() {
        let config = read("defaultAllowedSources: [10.0.0.0/8]").unwrap();
        let cluster = InstallationId::parse("kube-system").unwrap();
        assert_eq!(config.identity(&cluster), Identity::new(cluster));
    }

    #[test]
    fn values_that_contradict_one_another_are_all_reported() {
        let problems = read(
            "
defaultAllowedSources: [10.0.0.0/8]
reconcile: {polls: [], backoffFirst: 10m, colour: red}
brakes: {maxReplacingPercent: 101, freezeAtPercent: 200}
providerHealth: {every: 5s}
probe: {timeout: 6s, threshold: 0, url: 'https://probe.example/'}
election: {deadline: 14s, retry: 8s}
",
        )
        .unwrap_err();
        for expected in [
            "reconcile.polls: is empty",
            "reconcile.backoffFirst: is longer than backoffMost",
            "reconcile.colour: is not a known key",
            "brakes.maxReplacingPercent: 101 is more",
            "brakes.freezeAtPercent: 200 is more",
            "providerHealth.deadline: is not shorter",
            "probe.timeout: is longer",
            "probe.threshold: 0 is out of range",
            "probe.url: \"https://probe.example/\" is no URL",
            "election.deadline: is not shorter",
            "election.retry: leaves no time",
        ] {
            assert!(problems.contains(expected), "{expected} is not in {problems}");
        }
    }
}
