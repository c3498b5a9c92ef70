//! The profile as text, for docs, the matrix and golden files.

use std::fmt::Write as _;

use super::*;

impl Profile {
    /// The 19 axes of the contract with this profile's values, in order.
    pub fn axes(&self) -> Vec<(&'static str, String)> {
        let async_ops: Vec<_> = self.async_ops.iter().map(|op| op.as_str()).collect();
        let async_ops = if async_ops.is_empty() { "none".to_owned() } else { async_ops.join(", ") };
        fn row<A: Axis>(value: A) -> (&'static str, String) {
            (A::KEY, value.to_string())
        }
        vec![
            row(self.readiness),
            row(self.create_return),
            row(self.delete_return),
            row(self.ip_source),
            row(self.gc_mark),
            row(self.created_at),
            row(self.list_partial),
            row(self.quota),
            row(self.not_found),
            row(self.primary_key),
            row(self.provisioning_state),
            (AsyncOp::KEY, async_ops),
            row(self.secondary_resources),
            row(self.credentials),
            row(self.client_kind),
            row(self.timeouts),
            row(self.logging),
            row(self.child_spans),
            row(self.backend_test),
        ]
    }

    /// The axes beside the 19, and everything else that readers compare, as text. Docs and the matrix print it.
    pub fn own_rows(&self) -> Vec<(&'static str, String)> {
        let said = |text: &str| if text.is_empty() { "not said".to_owned() } else { text.to_owned() };
        let placement: Vec<_> = self.placement.iter().map(|field| field.as_str()).collect();
        let states: Vec<_> = self.states.iter().map(|state| format!("{state:?}")).collect();
        let yes_no = |value: bool| if value { "yes" } else { "no" }.to_owned();
        vec![
            (Mobility::KEY, self.mobility.to_string()),
            (Targets::KEY, self.targets.to_string()),
            (DeleteBinding::KEY, self.delete_binding.to_string()),
            ("visible-placeholder", yes_no(self.visible_placeholder)),
            ("late-failures", yes_no(self.late_failures)),
            ("listing-max-age", format!("{:?}", self.listing_max_age)),
            (
                "listing-pages",
                if self.numbered_pages { "by number".to_owned() } else { yes_no(self.listing_pages) },
            ),
            (WatchSupport::KEY, self.watch.to_string()),
            ("placement", if placement.is_empty() { "none".to_owned() } else { placement.join(", ") }),
            ("cloud-init", self.cloud_init.to_string()),
            ("access", self.access.to_string()),
            ("port", self.port.to_string()),
            ("states", states.join(", ")),
            ("check-target", self.check_target.to_owned()),
            ("check-details", self.check_details.join(", ")),
            ("settle", format!("{:?}", self.settle)),
            ("id", self.id_pattern.to_owned()),
            ("reachable-from", said(self.reachable_from)),
            ("distinct-egress", said(self.distinct_egress)),
        ]
    }

    /// Everything the profile declares, one fact a line.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let mut line = |fact: String| text.push_str(&(fact + "\n"));
        for (key, value) in self.axes().into_iter().chain(self.own_rows()) {
            line(format!("{key}: {value}"));
        }
        for row in &self.native_states {
            line(format!(
                "state {}: {}{}{}{}",
                row.native,
                row.shown,
                if row.reasoned { ", reasoned" } else { "" },
                if row.started { ", started by create" } else { "" },
                if row.locked { ", under a lock" } else { "" }
            ));
        }
        for call in &self.calls {
            let mut words = String::from(if call.mutates { "writes" } else { "reads" });
            if call.payload {
                words.push_str(", carries a payload");
            }
            if let Some(budget) = call.budget {
                let _ = write!(words, ", within {budget:?}");
            }
            line(format!("call {}: {words}", call.name));
        }
        let CallBudget { create, get, delete, list, list_each, check } = self.call_budget;
        line(format!(
            "calls: create {create}, get {get}, delete {delete}, list {list} and {list_each} each, check {check}"
        ));
        let Budgets { create, get, delete, list, connect, call } = self.budgets;
        line(format!(
            "budget of an operation: create {create:?}, get {get:?}, delete {delete:?}, list {list:?}"
        ));
        line(format!("budget of a call: {call:?}, of a connection: {connect:?}"));
        for BoundedWait { for_what, every, at_most } in &self.waits {
            line(format!("wait for {for_what}: every {every:?}, at most {at_most:?}"));
        }
        text
    }
}
