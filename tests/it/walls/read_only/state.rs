//! The state of a server, as far as a statement that reads must leave it alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use tokio_postgres::{AsyncMessage, Client, NoTls};

use crate::support::app::{awaited, eventually};
use crate::support::postgres::connect;
use crate::walls::server::{Server, text};

/// Name and value of each part.
const PARTS: &str = "
SELECT 'rows', (SELECT md5(string_agg(o::text, ',' ORDER BY ctid)) FROM orders o)
UNION ALL SELECT 'sequence', (SELECT concat(last_value, is_called) FROM ticket_seq)
UNION ALL SELECT 'definitions', (SELECT md5(string_agg(concat_ws(' ', oid, relname, relfilenode, reltuples, relacl), ',' ORDER BY oid))
    FROM pg_class WHERE relpersistence <> 't')
UNION ALL SELECT 'routines', (SELECT count(*)::text FROM pg_proc)
UNION ALL SELECT 'comments', (SELECT count(*)::text FROM pg_description)
UNION ALL SELECT 'roles', (SELECT md5(string_agg(a::text, ',' ORDER BY oid)) FROM pg_authid a)
UNION ALL SELECT 'databases', (SELECT string_agg(datname, ',' ORDER BY oid) FROM pg_database)
UNION ALL SELECT 'extensions', (SELECT count(*)::text FROM pg_extension)
UNION ALL SELECT 'settings of roles', (SELECT string_agg(s::text, ',') FROM pg_db_role_setting s)
UNION ALL SELECT 'settings in files', (SELECT md5(string_agg(s::text, ',')) FROM pg_file_settings s)
UNION ALL SELECT 'large objects', (SELECT concat((SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_largeobject_metadata),
    (SELECT md5(string_agg(l::text, ',')) FROM pg_largeobject l)))
UNION ALL SELECT 'slots', (SELECT string_agg(concat_ws(' ', slot_name, confirmed_flush_lsn), ',' ORDER BY slot_name) FROM pg_replication_slots)
UNION ALL SELECT 'origins', (SELECT string_agg(o::text, ',') FROM pg_replication_origin o)
UNION ALL SELECT 'prepared transactions', (SELECT string_agg(gid, ',') FROM pg_prepared_xacts)
UNION ALL SELECT 'advisory locks', (SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory')
UNION ALL SELECT 'configuration loaded', pg_conf_load_time()::text
UNION ALL SELECT 'statistics reset', (SELECT concat_ws(' ', (SELECT stats_reset FROM pg_stat_database WHERE datname = 'walls'),
    (SELECT stats_reset FROM pg_stat_bgwriter), (SELECT stats_reset FROM pg_stat_archiver), (SELECT stats_reset FROM pg_stat_wal),
    (SELECT max(stats_reset) FROM pg_stat_slru)))
UNION ALL SELECT 'file of the log', pg_walfile_name(pg_current_wal_lsn())
UNION ALL SELECT 'sessions', (SELECT string_agg(concat_ws(' ', pid, state), ',' ORDER BY pid) FROM pg_stat_activity WHERE application_name = 'portico_victim')
UNION ALL SELECT 'files', (SELECT string_agg(f, ',' ORDER BY f) FROM pg_ls_dir('.') f WHERE f <> 'postmaster.pid')
UNION ALL SELECT 'snapshots', (SELECT string_agg(f, ',' ORDER BY f) FROM pg_ls_dir('pg_snapshots') f)";

/// Records of the log that no reading statement writes.
const RECORDS: &str = "
SELECT coalesce(string_agg(DISTINCT resource_manager || ' ' || record_type, ','), '') FROM pg_get_wal_records_info($1::text::pg_lsn, $2::text::pg_lsn)
WHERE resource_manager = 'LogicalMessage' OR record_type IN ('RESTORE_POINT', 'SWITCH', 'CHECKPOINT_ONLINE', 'CHECKPOINT_REDO', 'BACKUP_END')";

/// Watches a server.
pub(super) struct Watch {
    admin: Client,
    listener: Client,
    heard: Arc<Mutex<Vec<String>>>,
    victims: Vec<Client>,
    url: String,
    /// Up to where the log was read.
    read_to: String,
    /// A session that somebody else works in.
    pub(super) victim: i32,
}

/// What the state was.
pub(super) type State = BTreeMap<String, String>;

impl Watch {
    pub(super) async fn start(server: &Server) -> Self {
        let admin = server.admin().await;
        // By itself: it does not go with what writes in one transaction.
        admin.batch_execute("SELECT pg_create_logical_replication_slot('watched', 'test_decoding')").await.unwrap();
        admin.batch_execute(&text("read_only/setup.sql")).await.unwrap();
        // Only this session's writes are waited for.
        admin.batch_execute("SET synchronous_commit = on; SET extra_float_digits = 1").await.unwrap();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let listener = listen(&server.url, Arc::clone(&heard)).await;
        let read_to = String::new();
        let (victims, url) = (Vec::new(), server.url.clone());
        let mut watch = Self { admin, listener, heard, victims, url, read_to, victim: 0 };
        watch.settle().await;
        watch
    }

    pub(super) fn admin(&self) -> &Client {
        &self.admin
    }

    /// Sessions to be disturbed, one of them at work, and the log from here on.
    async fn settle(&mut self) {
        self.victims.clear();
        let gone =
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'portico_victim'";
        self.admin.batch_execute(gone).await.unwrap();
        for _ in 0..2 {
            let victim = connect(&self.url).await;
            victim.batch_execute("SET application_name = 'portico_victim'").await.unwrap();
            self.victims.push(victim);
        }
        self.victim = self.victims[1].query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
        let working = self.victims.pop().unwrap();
        tokio::spawn(async move { working.batch_execute("SELECT pg_sleep(3600)").await });
        let working =
            "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND wait_event = 'PgSleep'";
        let at_work = async || self.admin.query_one(working, &[&self.victim]).await.unwrap().get::<_, i64>(0) != 0;
        eventually("the session to be at work", at_work).await;
        self.read_to = self.flushed().await;
    }

    async fn flushed(&self) -> String {
        // What has written something waits until all before it is on the disk.
        self.admin.batch_execute("UPDATE flushed SET n = n + 1").await.unwrap();
        self.admin.query_one("SELECT pg_current_wal_flush_lsn()::text", &[]).await.unwrap().get(0)
    }

    /// The state now.
    pub(super) async fn state(&mut self) -> State {
        let rows = self.admin.query(PARTS, &[]).await.unwrap();
        let value = |row: &tokio_postgres::Row| row.get::<_, Option<String>>(1).unwrap_or_default();
        let mut state: State = rows.iter().map(|row| (row.get(0), value(row))).collect();
        let to = self.flushed().await;
        let records: String = self.admin.query_one(RECORDS, &[&self.read_to, &to]).await.unwrap().get(0);
        if records.is_empty() {
            self.read_to = to;
        }
        state.insert("records of the log".to_owned(), records);
        state.insert("notifications".to_owned(), self.heard().await);
        state
    }

    /// Waits for what was sent before now.
    async fn heard(&self) -> String {
        self.listener.batch_execute("NOTIFY portico_sync").await.unwrap();
        awaited("our own notification", async || {
            let mut heard = self.heard.lock().unwrap();
            let place = heard.iter().position(|channel| channel == "portico_sync")?;
            heard.remove(place);
            Some(heard.join(","))
        })
        .await
    }

    /// Takes what was done as given, and says what the state is from here on.
    pub(super) async fn accept(&mut self) -> State {
        self.heard.lock().unwrap().clear();
        let held = "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory'";
        self.admin.batch_execute(held).await.unwrap();
        self.settle().await;
        self.state().await
    }
}

/// What is different, by its name.
pub(super) fn difference(before: &State, after: &State) -> Option<String> {
    let changed = after.iter().filter(|(name, value)| before.get(*name) != Some(value)).map(|(name, _)| name.as_str());
    let changed: Vec<&str> = changed.collect();
    (!changed.is_empty()).then(|| changed.join(", "))
}

/// A session that hears what the attacks notify.
async fn listen(url: &str, heard: Arc<Mutex<Vec<String>>>) -> Client {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let mut messages = futures_util::stream::poll_fn(move |context| connection.poll_message(context));
    tokio::spawn(async move {
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(notification) = message {
                heard.lock().unwrap().push(notification.channel().to_owned());
            }
        }
    });
    client.batch_execute("LISTEN attack; LISTEN x; LISTEN portico_sync").await.unwrap();
    client
}
