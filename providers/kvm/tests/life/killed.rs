//! Operations in processes of their own that die at one of their writes to the backend, with no chance to tidy up.

use std::{
    env,
    process::{self, Command},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use provider_api::{
    CallEnd, CallId, CallKind, Deleted, OperationId, ProviderId, TaskId, TrackedWait, Tracker,
};

use crate::{
    asked_again,
    host::{Host, offered},
};

/// When a process dies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death {
    /// At its first write, its second, and so on.
    pub(crate) at: u32,
    /// While the write is under way, else before it is sent.
    pub(crate) under_way: bool,
}

/// The child's part, in variables of its own. One that has an id deletes it, one that has none creates.
const ID: &str = "KVM_LIFE_ID";
const DIES_AT: &str = "KVM_LIFE_DIES_AT";
const UNDER_WAY: &str = "KVM_LIFE_UNDER_WAY";

const LAST_WORDS: &str = "dies at write";
const CAME_THROUGH: &str = "came through";

/// Creates the instance in a process that dies; true if it did so, false if it came through before.
pub(crate) fn create(host: &Host, death: Death) -> bool {
    child(host, death, |child| child)
}

/// The same for a deletion.
pub(crate) fn delete(host: &Host, id: &ProviderId, death: Death) -> bool {
    child(host, death, |child| child.env(ID, id.as_str()))
}

fn child(host: &Host, death: Death, part: impl FnOnce(&mut Command) -> &mut Command) -> bool {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "killed::a_process_that_dies", "--ignored", "--nocapture"]);
    child.env(DIES_AT, death.at.to_string()).env(UNDER_WAY, death.under_way.to_string());
    host.give(part(&mut child));
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        assert!(said.contains(CAME_THROUGH), "nothing was done: {said}");
        return false;
    }
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(complained.contains(LAST_WORDS), "it failed before {death:?}: {said}{complained}");
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a child of the test that kills it"]
async fn a_process_that_dies() {
    let host = Host::given();
    let death = Death { at: offered(DIES_AT).parse().unwrap(), under_way: offered(UNDER_WAY) == "true" };
    let provider = host.watched(Some(Arc::new(Watch { death, writes: AtomicU32::new(0) }))).provider;
    match env::var(ID) {
        Ok(id) => {
            let id = ProviderId::new(id);
            assert_eq!(asked_again(|| provider.delete(&id)).await, Deleted::Gone);
        }
        Err(_) => {
            let request = host.request();
            drop(asked_again(|| provider.create(&request)).await);
        }
    }
    println!("{CAME_THROUGH}");
}

/// Ends the process at one of its writes.
struct Watch {
    death: Death,
    writes: AtomicU32,
}

impl Tracker for Watch {
    fn begin_call(&self, _: Option<OperationId>, kind: &CallKind, _: &str, _: bool) -> CallId {
        if kind.mutates && self.writes.fetch_add(1, Ordering::SeqCst) + 1 == self.death.at {
            eprintln!("{LAST_WORDS} {}, {}", self.death.at, kind.name);
            if !self.death.under_way {
                process::abort();
            }
            thread::spawn(|| {
                thread::sleep(Duration::from_millis(3));
                process::abort();
            });
        }
        CallId(0)
    }

    fn end_call(&self, _: CallId, _: CallEnd) {}
    fn begin_closure(&self, _: CallId) {}
    fn end_closure(&self, _: CallId) {}
    fn begin_wait(&self, _: Option<OperationId>, _: TrackedWait) {}
    fn end_wait(&self, _: Option<OperationId>, _: TrackedWait) {}
    fn begin_task(&self, _: Option<OperationId>) -> TaskId {
        TaskId(0)
    }
    fn task_woken(&self, _: TaskId) {}
    fn task_polled(&self, _: TaskId) {}
    fn end_task(&self, _: TaskId) {}
}
