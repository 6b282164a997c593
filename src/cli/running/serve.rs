//! `portico serve`: the service from its start to its end, as signals, the control socket and the
//! service manager see it.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::ready;
use futures_util::{Stream, StreamExt, stream};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::task::AbortOnDropHandle;

use super::control::{Control, ControlRequest, ControlResponse};
use super::logging::start_log_of_service;
use super::notify::Notify;
use crate::anonymous_quota::SUM_AT_MOST;
use crate::app::App;
use crate::cli::checks::writable;
use crate::cli::common::{Common, Failure};
use crate::config::Config;
use crate::net::listener::{Listener, Listeners, Made};
use crate::observe::{Log, queue};
use crate::reload::ineffective_grants_message;

/// How often the state of the connections is reported to the service manager, if it has changed.
const STATUS_EVERY: Duration = Duration::from_secs(5);

pub(in crate::cli) fn run(common: &Common) -> Result<(), Failure> {
    let config = Config::load(&common.config)?;
    start_log_of_service(&config.log);
    let (listeners, _made) = listen(&config)?;
    let file = common.config.clone();
    actix::System::new().block_on(serve(config, listeners, Some(file), || {}))
}

/// The sockets that the service manager hands over (`LISTEN_FDS`), else the configured ones.
fn listen(config: &Config) -> Result<(Listeners, Made), Failure> {
    let given = inherited().map_err(|error| Failure::io("a socket of the service manager", error))?;
    if !given.is_empty() {
        return Ok((Listeners(given), Made::default()));
    }
    let bind = |place| Listener::bind(place).map_err(|error| Failure::not_listening(place, &error));
    let listeners = config.server.listen.iter().map(bind).collect::<Result<_, _>>()?;
    Ok((Listeners(listeners), Made::new(&config.server.listen)))
}

/// Sockets that were open before the service started (`sd_listen_fds(3)`).
fn inherited() -> std::io::Result<Vec<Listener>> {
    let mut given = listenfd::ListenFd::from_env();
    let mut listeners = Vec::new();
    for index in 0..given.len() {
        // One that is of another kind stays for the next attempt.
        let tcp = given.take_tcp_listener(index).ok().flatten().map(Listener::Tcp);
        let listener = match tcp {
            Some(tcp) => Some(tcp),
            None => given.take_unix_listener(index)?.map(Listener::Unix),
        };
        listeners.extend(listener);
    }
    Ok(listeners)
}

/// Serves until the process is told to stop. `file` is read again on reload. `started` is called once the service
/// listens.
pub(in crate::cli) async fn serve(
    config: Config,
    listeners: Listeners,
    file: Option<PathBuf>,
    started: impl FnOnce(),
) -> Result<(), Failure> {
    raise_file_limit();
    let notify = Rc::new(Notify::from_environment());
    let control = config.store.control.clone();
    let log = Arc::new(Log::default());
    let observer = Arc::clone(&log);
    let app = App::start(config, Arc::new(move |event| observer.write(event))).await?;
    // Without a configuration it is only tried out, and has nothing to protect yet.
    if file.is_some() && app.config().store.key.is_none() {
        log::warn!("signing keys are stored unencrypted; set PORTICO_STORE_KEY or store.key_file to encrypt them");
    }
    if let Some(found) = writable::spill_folder(&app.config()) {
        log::warn!("{}; {}", found.message, found.remedy);
    }
    reopen_on_signal(&app);
    let places: Vec<String> = listeners.0.iter().map(Listener::place).collect();
    log::info!("listening on {} as {}", places.join(", "), app.config().server.public_url);
    let mut beside = vec![
        beside(told(Arc::clone(&app), Rc::clone(&notify))),
        beside(watched(Arc::clone(&app), Rc::clone(&notify))),
        beside(summed_up(log)),
    ];
    if let Some(file) = file {
        beside.push(self::beside(reloads(Arc::clone(&app), Rc::clone(&notify), file, control)));
    }
    started();
    let stopping = async {
        stop_signal(false).await;
        notify.stopping();
    };
    crate::run(app, listeners, stopping).await.map_err(|error| Failure::io("the listener failed", error))?;
    drop(beside);
    Ok(())
}

/// Every client's connection is an open file, and the usual soft limit is for programs with few:
/// takes as many as the process may have.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    let words = |limit: Option<u64>| limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
    if before == limit.maximum {
        log::info!("open files: {} at most", words(before));
        return;
    }
    limit.current = limit.maximum;
    match setrlimit(Resource::Nofile, limit) {
        Ok(()) => log::info!("open files: {} at most, raised from {}", words(limit.current), words(before)),
        Err(error) => log::warn!("open files: {} at most; the limit cannot be raised: {error}", words(before)),
    }
}

/// Reopens the audit trail's file at each SIGUSR1, which log rotation sends. Handled even without a trail, since it
/// would end the process.
fn reopen_on_signal(app: &Arc<App>) {
    let audit = app.audit.clone();
    actix::spawn(signals(SignalKind::user_defined1(), "SIGUSR1").for_each(move |_| {
        if let Some(audit) = &audit {
            audit.reopen();
        }
        ready(())
    }));
}

/// Runs `work` beside the service, and ends with it.
fn beside(work: impl Future<Output = ()> + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(actix::spawn(work))
}

/// Logs, at intervals, a summary of requests without a line of their own.
async fn summed_up(log: Arc<Log>) {
    let mut ticks = interval(SUM_AT_MOST);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        log.sum_up();
    }
}

/// Notifies the service manager when the service is ready, and afterwards of the state of its connections.
async fn told(app: Arc<App>, notify: Rc<Notify>) {
    app.directory.settled().await;
    let mut said = status(&app);
    log::info!("ready: {said}");
    notify.ready(&said);
    if let Ok(shut @ 1..) = app.people.ineffective_grants().await {
        log::warn!("{}", ineffective_grants_message(shut));
    }
    let mut ticks = interval(STATUS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !app.draining() {
        ticks.tick().await;
        let now = status(&app);
        if now != said {
            notify.status(&now);
            said = now;
        }
    }
}

/// One line on the connections.
fn status(app: &App) -> String {
    let entries = app.directory.list();
    let away: Vec<String> = entries
        .iter()
        .filter(|entry| !["up", "idle"].contains(&entry.status()))
        .map(|entry| format!("{} {}", entry.name, entry.status()))
        .collect();
    let idle = entries.iter().filter(|entry| entry.is_idle()).count();
    let up = entries.len() - away.len() - idle;
    let resting = if idle == 0 { String::new() } else { format!(", {idle} idle") };
    let rest = if away.is_empty() { String::new() } else { format!("; {}", away.join(", ")) };
    let store = if app.auth.has_read() { "" } else { "; the store is away, and nobody can call" };
    format!("{up} of {} connections up{resting}{rest}{store}", entries.len())
}

/// Feeds the watchdog while every thread turns: a process that only exists is not alive.
async fn watched(app: Arc<App>, notify: Rc<Notify>) {
    let Some(limit) = notify.watchdog else { return };
    // More often than the twice that sd_watchdog_enabled(3) advises: one look can come just behind a pause of all.
    let mut ticks = interval(limit / 4);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // While the service stops its actors end, and the manager has a deadline of its own.
        let stuck = app.stuck(limit / 2);
        if app.draining() || stuck.is_empty() {
            notify.alive();
        } else {
            log::error!("threads are stuck; the watchdog is not notified: {}", stuck.join(", "));
        }
    }
}

/// Reads the configuration again at each SIGHUP, and when the control socket asks for it.
async fn reloads(app: Arc<App>, notify: Rc<Notify>, file: PathBuf, control: PathBuf) {
    let absolute = std::path::absolute(&file).unwrap_or_else(|_| file.clone());
    let reloading = {
        let app = Arc::clone(&app);
        move || reload(Arc::clone(&app), Rc::clone(&notify), file.clone())
    };
    let (reload, path) = (reloading.clone(), absolute);
    let answer = move |question| {
        let (app, reload, file) = (Arc::clone(&app), reload.clone(), path.clone());
        async move {
            match question {
                ControlRequest::Reload => reload().await,
                ControlRequest::Health => ControlResponse { config: Some(file), ..health(&app) },
                ControlRequest::Look => {
                    app.auth.sync().await;
                    ControlResponse::new(true, "the store was read again".to_owned())
                }
            }
        }
    };
    let _answering = Control::open(&control)
        .map(|control| beside(control.serve(answer)))
        .map_err(|error| log::warn!("there is no control socket, and so no `portico reload`: {error}"));
    let each = |_| {
        // It can wait for sources, and another one after it.
        actix::spawn(reloading());
        ready(())
    };
    signals(SignalKind::hangup(), "SIGHUP").for_each(each).await;
}

async fn reload(app: Arc<App>, notify: Rc<Notify>, file: PathBuf) -> ControlResponse {
    notify.reloading();
    let answer = ControlResponse::from(app.reload(&file).await);
    let status = if answer.ok { status(&app) } else { format!("{}; the last reload was refused", status(&app)) };
    // A reload in the first moments does not make the service ready.
    if app.started() && !app.draining() {
        notify.ready(&status);
    }
    answer
}

/// Whether the service would take a call.
fn health(app: &App) -> ControlResponse {
    match app.takes_calls() {
        Ok(()) => ControlResponse::new(true, status(app)),
        Err(why) => ControlResponse::new(false, why.to_string()),
    }
}

/// Completes on SIGINT and on SIGTERM, and on SIGHUP if it means that the client is gone. From then on a second one ends
/// the process at once.
pub(in crate::cli) async fn stop_signal(has_client: bool) {
    let (terminate, interrupt) =
        (signals(SignalKind::terminate(), "SIGTERM"), signals(SignalKind::interrupt(), "SIGINT"));
    let mut either = stream::select(terminate, interrupt).boxed_local();
    if has_client {
        either = stream::select(either, signals(SignalKind::hangup(), "SIGHUP")).boxed_local();
    }
    either.next().await;
    log::info!("stopping; a second signal ends at once");
    actix::spawn(async move {
        let Some(again) = either.next().await else { return };
        log::warn!("ended at once; running calls were not told");
        queue::finish();
        // As a shell counts a process that a signal ended.
        std::process::exit(128 + again.as_raw_value());
    });
}

/// Returns a stream of a signal's arrivals; it never yields if the signal cannot be watched.
fn signals(kind: SignalKind, name: &str) -> impl Stream<Item = SignalKind> + use<> {
    let signal = signal(kind).map_err(|error| log::error!("{name} cannot be watched: {error}"));
    let heard = stream::unfold(signal.ok(), move |signal| async move {
        let mut signal = signal?;
        signal.recv().await.map(|()| (kind, Some(signal)))
    });
    heard.chain(stream::pending())
}
