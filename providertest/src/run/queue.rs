//! The work that threads share: work may bring more work, and it is over when nobody has any.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, PoisonError},
};

pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    waiting: VecDeque<T>,
    /// Pieces that were taken and may bring more.
    open: usize,
}

impl<T> Queue<T> {
    pub(super) fn new(work: impl IntoIterator<Item = T>) -> Self {
        let state = State { waiting: work.into_iter().collect(), open: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Takes a piece; `None` when there is no more and can be no more. The piece is open until [`Queue::done`].
    pub(super) fn take(&self) -> Option<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(work) = state.waiting.pop_front() {
                state.open += 1;
                return Some(work);
            }
            if state.open == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Adds what an open piece has brought; it comes next.
    pub(super) fn add(&self, work: Vec<T>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for work in work.into_iter().rev() {
            state.waiting.push_front(work);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Closes a piece.
    pub(super) fn done(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open -= 1;
        let over = state.open == 0 && state.waiting.is_empty();
        drop(state);
        if over {
            self.changed.notify_all();
        }
    }
}
