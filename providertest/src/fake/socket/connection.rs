//! One connection: what comes in is cut into messages, what is answered or pushed goes out, and a target that is cut
//! loses it.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
};

use futures::{
    StreamExt as _,
    channel::{mpsc::unbounded, oneshot},
    future::BoxFuture,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{
    Fake, Out, Push,
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
    let mut bytes = Vec::new();
    let mut last = None;
    loop {
        if server.wire.condition(&server.target) == Some(Condition::Cut) {
            return;
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
                    let framed = server.fake.frame(&open(&session), &bytes);
                    let Ok(end) = framed else { return };
                    let Some(end) = end.filter(|end| (1..=bytes.len()).contains(end)) else { break };
                    let message: Vec<u8> = bytes.drain(..end).collect();
                    last = Some(take(&server, &session, message, &Push(push.clone()), last));
                }
                if bytes.len() > server.limit {
                    return;
                }
            }
        }
    }
}

/// Takes a message up in a task of its own; what is returned ends when it has been answered. Until its turn has come it
/// is known to the ledger as held.
fn take<F: Fake>(
    server: &Server<F>,
    session: &Session<F>,
    message: Vec<u8>,
    push: &Push,
    before: Option<oneshot::Receiver<()>>,
) -> oneshot::Receiver<()> {
    let (incoming, payload) = server.read(session, &message);
    let queued = server.wire.ledger().arrive(incoming.call, incoming.blocking);
    let before = before.filter(|_| !server.fake.overlaps());
    let (server, session, push) = (server.clone(), Arc::clone(session), push.clone());
    let (done, answered) = oneshot::channel();
    let answering = Answering(Some(push));
    tokio::spawn(async move {
        if let Some(before) = before {
            queued.park();
            // An end without a word is the end of a message that was reset: nothing that follows is heard.
            if before.await.is_err() {
                return;
            }
            queued.unpark();
        }
        let reply = handed_over(queued, Box::pin(server.pass(&session, incoming, payload, message))).await;
        if let Reply::Answer(bytes) = reply {
            answering.answer(bytes);
            // The next in turn may be gone with its connection.
            let _ = done.send(());
        }
    });
    answered
}

/// A message that is to be answered. Dropped without an answer it breaks the connection: a reset, or a fake that panics.
struct Answering(Option<Push>);

impl Answering {
    fn answer(mut self, bytes: Vec<u8>) {
        if let Some(push) = self.0.take() {
            push.say(bytes);
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(push) = &self.0 {
            // Whoever has left is not reset.
            let _ = push.0.unbounded_send(Out::Reset);
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
