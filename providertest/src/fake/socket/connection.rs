//! One connection: what comes in is cut into messages, what is answered or pushed goes out, and a target that is cut
//! loses it.

use std::{
    collections::VecDeque,
    future::Future,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::{
    StreamExt as _,
    channel::{mpsc::unbounded, oneshot},
    future::BoxFuture,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{
    Fake, Out, Push, Then,
    server::{Server, Session, open},
};
use crate::{
    fake::serving::Connection,
    ledger::Ticket,
    wire::{Condition, Reply},
};

/// Speaks with one client until it goes or is cut off. Returning drops the stream: on TCP that is a reset.
pub(super) async fn converse<F: Fake>(server: Server<F>, mut stream: Connection) {
    let mut changes = server.wire.condition_changes();
    let (push, mut out) = unbounded();
    // A target that hangs accepts and says nothing, not even a greeting.
    if server.wire.condition(&server.target) == Some(Condition::Hangs) {
        let held = server.wire.ledger().park_dial();
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await.is_ok_and(|count| count > 0) {}
        drop(held);
        return;
    }
    let session: Session<F> = Arc::new(Mutex::new(server.fake.begin(Push(push.clone()))));
    let mut calls =
        Calls { server: server.clone(), session, push: Push(push), open: Arc::default(), last: None };
    let mut bytes = Vec::new();
    let mut unread = VecDeque::new();
    loop {
        if server.wire.condition(&server.target) == Some(Condition::Cut) {
            return;
        }
        while !calls.is_full() {
            let Some(message) = unread.pop_front() else { break };
            calls.take(message);
        }
        tokio::select! {
            biased;
            _ = changes.next() => {}
            next = out.next() => match next {
                Some(Out::Bytes(bytes)) => {
                    if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                        return;
                    }
                }
                Some(Out::Reset) | None => return,
            },
            read = stream.read_buf(&mut bytes) => {
                if read.map_or(true, |count| count == 0) {
                    return;
                }
                loop {
                    let framed = server.fake.frame(&open(&calls.session), &bytes);
                    let Ok(end) = framed else { return };
                    let Some(end) = end.filter(|end| (1..=bytes.len()).contains(end)) else { break };
                    let message: Arc<[u8]> = bytes.drain(..end).collect();
                    if unread.is_empty() && !calls.is_full() {
                        calls.take(Message { bytes: message, held: None });
                    } else {
                        unread.push_back(calls.hold(message));
                    }
                }
                if bytes.len() > server.limit {
                    return;
                }
            }
        }
    }
}

/// A message that was cut out of the stream.
struct Message {
    bytes: Arc<[u8]>,
    /// While the backend reads no further, the ledger knows what waits to be read.
    held: Option<Ticket>,
}

/// The calls of one connection.
struct Calls<F: Fake> {
    server: Server<F>,
    session: Session<F>,
    push: Push,
    /// How many are unanswered.
    open: Arc<AtomicUsize>,
    /// Ends when the last one has been answered.
    last: Option<oneshot::Receiver<()>>,
}

impl<F: Fake> Calls<F> {
    fn is_full(&self) -> bool {
        self.open.load(Ordering::Acquire) >= self.server.fake.at_once()
    }

    /// Leaves a message unread for now.
    fn hold(&self, bytes: Arc<[u8]>) -> Message {
        let (incoming, _) = self.server.read(&self.session, &bytes);
        let ticket = self.server.wire.ledger().arrive(incoming.call, incoming.blocking);
        ticket.park();
        Message { bytes, held: Some(ticket) }
    }

    /// Takes a message up in a task of its own. Until its turn has come it is known to the ledger as held.
    fn take(&mut self, Message { bytes, held }: Message) {
        let aside = self.server.fake.aside(&mut open(&self.session), &bytes);
        if let Some(answer) = aside {
            self.push.say(answer);
            return;
        }
        let (incoming, payload) = self.server.read(&self.session, &bytes);
        let queued =
            held.unwrap_or_else(|| self.server.wire.ledger().arrive(incoming.call, incoming.blocking));
        queued.unpark();
        let (done, answered) = oneshot::channel();
        let before = self.last.replace(answered).filter(|_| !self.server.fake.overlaps());
        let (server, session) = (self.server.clone(), Arc::clone(&self.session));
        let answering = Answering { push: Some(self.push.clone()), open: Arc::clone(&self.open) };
        self.open.fetch_add(1, Ordering::AcqRel);
        tokio::spawn(async move {
            if let Some(before) = before {
                queued.park();
                // An end without a word is the end of a message that was reset: nothing that follows is heard.
                if before.await.is_err() {
                    return;
                }
                queued.unpark();
            }
            let message = Arc::clone(&bytes);
            let reply =
                handed_over(queued, Box::pin(server.pass(&session, incoming, payload, message))).await;
            if let Reply::Answer(answer) = reply {
                let then = server.fake.answered(&mut open(&session), &bytes, &answer);
                answering.answer(answer, then);
                // The next in turn may be gone with its connection.
                let _ = done.send(());
            }
        });
    }
}

/// A message that is to be answered. Dropped without an answer it breaks the connection: a reset, or a fake that panics.
struct Answering {
    push: Option<Push>,
    open: Arc<AtomicUsize>,
}

impl Answering {
    fn answer(mut self, bytes: Vec<u8>, then: Then) {
        // Before anything is said: what is said lets the connection look for room.
        self.open.fetch_sub(1, Ordering::AcqRel);
        if let Some(push) = self.push.take() {
            push.say(bytes);
            if then == Then::HangsUp {
                push.hang_up();
            }
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(push) = &self.push {
            push.hang_up();
        }
    }
}

/// Polls the service of a request once, which gives it a ticket of its own, before the one that it waited with is given
/// back.
async fn handed_over<T>(queued: Ticket, service: BoxFuture<'_, T>) -> T {
    let mut queued = Some(queued);
    let mut service = pin!(service);
    std::future::poll_fn(move |cx| {
        let poll = service.as_mut().poll(cx);
        drop(queued.take());
        poll
    })
    .await
}
