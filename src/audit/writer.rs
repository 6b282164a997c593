//! The thread that writes the trail: writes all queued records at once, reports a failing disk once, and tries
//! again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use portico_actors::error::Error;
use portico_actors::event::{Event, Observer};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::queue::{Message, Shared};
use super::record::{AuditEvent, Record};
use super::sinks::Sinks;
use crate::anonymous_quota::SUM_AT_MOST;
use crate::config::OnFailure;

/// Records that are written at once, at most.
const AT_ONCE: usize = 256;
/// How long a failing disk is left alone.
const PAUSE: Duration = Duration::from_millis(250);

pub(super) struct Writer {
    sinks: Sinks,
    shared: Arc<Shared>,
    on_failure: OnFailure,
    observer: Observer,
    lost: u64,
    /// When the number of counted requests was last reported.
    summed: Option<Instant>,
    /// The requests that wait until the added records are written.
    waiting: Vec<oneshot::Sender<()>>,
}

impl Writer {
    pub(super) fn new(sinks: Sinks, shared: Arc<Shared>, on_failure: OnFailure, observer: Observer) -> Self {
        Self { sinks, shared, on_failure, observer, lost: 0, summed: None, waiting: Vec::new() }
    }

    /// Writes until it is told to stop, or all senders are gone.
    pub(super) fn run(mut self, mut receiver: UnboundedReceiver<Message>) {
        let (mut goes_on, mut messages) = (true, Vec::with_capacity(AT_ONCE));
        while goes_on {
            goes_on = receiver.blocking_recv_many(&mut messages, AT_ONCE) > 0;
            for message in messages.drain(..) {
                match message {
                    Message::Record(queued) => {
                        self.sinks.add(&queued.record);
                        self.waiting.push(queued.written);
                        drop(queued.room);
                    }
                    Message::Wake => {}
                    Message::Stop => goes_on = false,
                }
            }
            self.add_suppressed(!goes_on);
            self.write();
            // Requests that still wait, wait for records that were given up.
            self.waiting.clear();
        }
    }

    /// Adds how many were only counted: not with each record, so that these do not crowd out the others.
    fn add_suppressed(&mut self, at_once: bool) {
        if !at_once && self.summed.is_some_and(|at| at.elapsed() < SUM_AT_MOST) {
            return;
        }
        let suppressed = self.shared.strangers.counted();
        if suppressed > 0 {
            self.summed = Some(Instant::now());
            self.sinks.add(&Record::counted(AuditEvent::Suppressed, suppressed));
        }
    }

    /// Writes the added records. If calls are refused meanwhile, it tries until it succeeds.
    fn write(&mut self) {
        loop {
            if self.shared.reopen.swap(false, Ordering::AcqRel) {
                self.sinks.reopen();
            }
            match self.sinks.flush() {
                Ok(()) => return self.succeeded(),
                Err(error) => self.failed(&error),
            }
            if self.on_failure == OnFailure::Continue || self.shared.stopping.load(Ordering::Acquire) {
                self.lost += self.sinks.give_up();
                return;
            }
            std::thread::park_timeout(PAUSE);
        }
    }

    fn succeeded(&mut self) {
        for waiting in self.waiting.drain(..) {
            // The receiver may be gone.
            let _ = waiting.send(());
        }
        if !self.shared.failing.send_replace(false) {
            return;
        }
        let lost = std::mem::take(&mut self.lost);
        (self.observer)(&Event::AuditResumed { lost });
        if lost > 0 {
            self.sinks.add(&Record::counted(AuditEvent::Lost, lost));
            // Should it fail, the next record finds out.
            if self.sinks.flush().is_err() {
                self.lost = lost;
                self.sinks.give_up();
            }
        }
    }

    fn failed(&mut self, error: &Error) {
        if !self.shared.failing.send_replace(true) {
            let cause = error.cause().unwrap_or(&error.message).to_owned();
            (self.observer)(&Event::AuditFailed { cause, refuses: self.on_failure == OnFailure::Refuse });
        }
    }
}
