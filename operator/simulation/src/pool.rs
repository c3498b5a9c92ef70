//! One thread that runs everything of a world: of the tasks that can go on, chance chooses the next.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Wake, Waker},
};

use futures::future::BoxFuture;
use provider_api::Spawner;
use rand::{Rng, rngs::StdRng};

/// The tasks of a world. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Pool(Arc<Shared>);

#[derive(Default)]
struct Shared {
    ready: Mutex<Vec<u64>>,
    tasks: Mutex<Tasks>,
}

#[derive(Default)]
struct Tasks {
    serial: u64,
    all: BTreeMap<u64, Task>,
}

struct Task {
    /// Taken while it is polled.
    future: Option<BoxFuture<'static, ()>>,
    ready: Arc<Ready>,
}

struct Ready {
    id: u64,
    is_woken: AtomicBool,
    shared: Arc<Shared>,
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        if !self.is_woken.swap(true, Ordering::Relaxed) {
            lock(&self.shared.ready).push(self.id);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Adds a task; its number is for [`Pool::kill`].
    pub(crate) fn add(&self, future: BoxFuture<'static, ()>) -> u64 {
        let mut tasks = lock(&self.0.tasks);
        tasks.serial += 1;
        let id = tasks.serial;
        let ready = Arc::new(Ready { id, is_woken: AtomicBool::new(false), shared: Arc::clone(&self.0) });
        tasks.all.insert(id, Task { future: Some(future), ready: Arc::clone(&ready) });
        drop(tasks);
        ready.wake();
        id
    }

    /// Ends a task where it is. One that kills itself ends when it next waits.
    pub(crate) fn kill(&self, id: u64) {
        // Dropped without the lock: what a task holds may reach for the pool.
        let task = lock(&self.0.tasks).all.remove(&id);
        drop(task);
    }

    /// Ends every task: what they hold may hold the pool.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut lock(&self.0.tasks).all);
        drop(all);
    }

    /// Lets one of the tasks that can go on do so. Whether there was one.
    pub(crate) fn turn(&self, chance: &mut StdRng) -> bool {
        let id = {
            let mut ready = lock(&self.0.ready);
            if ready.is_empty() {
                return false;
            }
            let one = chance.random_range(0..ready.len());
            ready.swap_remove(one)
        };
        let (mut future, ready) = {
            let mut tasks = lock(&self.0.tasks);
            let Some(task) = tasks.all.get_mut(&id) else { return true };
            let Some(future) = task.future.take() else { return true };
            (future, Arc::clone(&task.ready))
        };
        ready.is_woken.store(false, Ordering::Relaxed);
        let waker = Waker::from(ready);
        let is_over = future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        let mut tasks = lock(&self.0.tasks);
        if is_over {
            tasks.all.remove(&id);
        } else if let Some(task) = tasks.all.get_mut(&id) {
            task.future = Some(future);
            return true;
        }
        drop(tasks);
        drop(future);
        true
    }
}

impl Spawner for Pool {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.add(task);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        work();
    }
}
