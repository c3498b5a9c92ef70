//! What a kubelet does by itself, for Pods that none has: it ends the containers of a Pod that is being deleted, says
//! so, and takes the object away. What it does in answer to the hand is in `real_hand.rs`.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    admin::{Admin, Refused},
    pods,
    real::Played,
};

/// A kubelet takes a second or more; a suite has no time for that, and no rule needs it.
const TICK: Duration = Duration::from_millis(200);

/// Begins to work, on a thread of its own: what its client logs is no part of a case. It ends soon after the flag says
/// that it is over.
pub(crate) fn start(config: kube::Config, namespace: &str, played: &Arc<Mutex<Played>>) -> Arc<AtomicBool> {
    let over = Arc::new(AtomicBool::new(false));
    let (until, played) = (Arc::clone(&over), Arc::clone(played));
    let folder = format!("/api/v1/namespaces/{namespace}/pods");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        // Where there is no room for it the case itself gets nowhere either.
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async move {
            if let Ok(admin) = Admin::new(config) {
                run(&admin, &folder, &played, &until).await;
            }
        });
    });
    over
}

async fn run(admin: &Admin, folder: &str, played: &Mutex<Played>, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        tokio::time::sleep(TICK).await;
        // A look that fails is made again; a server that is gone shows in what the case itself asks.
        let Ok(found) = admin.list(folder).await else { continue };
        for pod in found.iter().filter(|pod| is_to_end(pod, played)) {
            let _ = end(admin, folder, pod).await;
        }
    }
}

/// It is bound, its deletion was asked for, and nobody holds it.
fn is_to_end(pod: &Value, played: &Mutex<Played>) -> bool {
    let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
    let held = played.lock().unwrap_or_else(PoisonError::into_inner).held.contains(uid);
    pod["metadata"]["deletionTimestamp"].is_string() && pod["spec"]["nodeName"].is_string() && !held
}

async fn end(admin: &Admin, folder: &str, pod: &Value) -> Result<(), Refused> {
    let (name, uid) = (&pod["metadata"]["name"], &pod["metadata"]["uid"]);
    let path = format!("{folder}/{}", name.as_str().unwrap_or_default());
    let ended = pods::status("Succeeded/Completed", jiff::Timestamp::now(), &[]);
    admin.lay(&format!("{path}/status"), pods::laid(uid, ended.unwrap_or_default())).await?;
    // Its UID is named, lest a successor go.
    admin.delete(&path, json!({"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})).await
}
