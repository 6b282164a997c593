//! A session for callers that may block: a thread of its own drives it, and each request waits for the answer or
//! for its deadline. Used by the store of identities, whose requests are short and sequential; never for a
//! connection's queries.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use bytes::BytesMut;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_postgres::error::SqlState;

use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Column, Row};

use crate::postgres::address::Address;
use crate::postgres::connect::connector::Connector;
use crate::postgres::connect::protocol::driven_client::DrivenClient;
use crate::postgres::failure;
use portico_core::error::Error;

/// How much longer than the server's own limit an answer may take.
const GRACE: Duration = Duration::from_secs(1);

/// A value sent to the server or received from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// NULL.
    Null,
    /// Any integer type, or a boolean as 0 and 1.
    Integer(i64),
    /// `text` and types with the same form.
    Text(String),
    /// `bytea`.
    Octets(Vec<u8>),
}

/// Why a request failed.
#[derive(Debug)]
pub enum Failure {
    /// A unique constraint would have been violated.
    Taken,
    /// Everything else, for the log: it names the server, and never the password.
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// The rows of an answer, each with one value for each of `columns`.
#[derive(Debug, Default)]
pub struct Rows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows in order.
    pub rows: Vec<Vec<Value>>,
}

/// A session with a thread that drives it. Its methods block, also where async code must not wait.
pub struct Session {
    wire: Arc<DrivenClient>,
    driver: Driver,
    patience: Duration,
    /// An answer was late: the next message could belong to it.
    late: AtomicBool,
}

/// The thread of a session. It ends when this is dropped, and is not waited for.
struct Driver {
    tasks: Handle,
    _stop: oneshot::Sender<()>,
}

impl Driver {
    fn start() -> Result<Self, Error> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::internal)?;
        let (stop, stopped) = oneshot::channel();
        let tasks = runtime.handle().clone();
        // An end without a word is as good as one.
        let drive = move || drop(runtime.block_on(stopped));
        std::thread::Builder::new().name("store-session".to_owned()).spawn(drive).map_err(Error::internal)?;
        Ok(Self { tasks, _stop: stop })
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}

impl Session {
    /// Connects. Each attempt at a host may take `connect_timeout`, unless the URL says otherwise;
    /// each statement afterwards `patience`, at the server and here.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) when the address cannot be honoured,
    /// [`Kind::Unavailable`](portico_core::error::Kind::Unavailable) when no host takes the session.
    pub fn open(address: &Address, connect_timeout: Duration, patience: Duration) -> Result<Self, Error> {
        let connector = Connector::new(address, connect_timeout)?;
        let driver = Driver::start()?;
        let connected = wait(&driver.tasks, None, async move { connector.connect().await });
        let wire = Arc::new(connected.unwrap_or_else(|| Err(late()))?);
        let session = Self { wire, driver, patience, late: AtomicBool::new(false) };
        let milliseconds = patience.as_millis();
        // A client that stops in the middle of a transaction must not block all others for ever.
        let settings = format!(
            "SET statement_timeout = {milliseconds}; SET lock_timeout = {milliseconds}; \
             SET idle_in_transaction_session_timeout = {}; SET client_min_messages = warning",
            2 * milliseconds
        );
        session.batch(&settings).map_err(|failure| match failure {
            Failure::Taken => Error::internal("bug: a setting cannot violate a constraint"),
            Failure::Other(error) => error,
        })?;
        Ok(session)
    }

    /// Calls `hear` with the channel and the payload of each notification, on the thread that drives the session:
    /// it must return at once.
    pub fn on_notification(&self, hear: impl Fn(&str, &str) + Send + Sync + 'static) {
        self.wire.messages.on_notification(hear);
    }

    /// Whether the session has ended, or is of no more use.
    pub fn is_closed(&self) -> bool {
        self.wire.is_closed() || self.late.load(Ordering::Relaxed)
    }

    /// Runs statements without values, one after the other.
    ///
    /// # Errors
    /// The server's error, or a timeout; the session is unusable after that.
    pub fn batch(&self, sql: &str) -> Result<(), Failure> {
        self.batch_within(sql, self.patience)
    }

    /// Runs statements without values, one after the other, within the time `patience`.
    ///
    /// # Errors
    /// As [`Session::batch`].
    pub fn batch_within(&self, sql: &str, patience: Duration) -> Result<(), Failure> {
        let (wire, sql) = (Arc::clone(&self.wire), sql.to_owned());
        self.answer(patience, async move { wire.batch_execute(&sql).await })
    }

    /// Runs one statement with `values` for `$1` and so on; how many rows it concerned.
    ///
    /// # Errors
    /// As [`Session::batch`].
    pub fn execute(&self, sql: &str, values: Vec<Value>) -> Result<u64, Failure> {
        let (wire, sql) = (Arc::clone(&self.wire), sql.to_owned());
        self.answer(self.patience, async move { wire.execute_typed(&sql, &typed(&values)).await })
    }

    /// Runs one statement with `values` for `$1` and so on; its rows.
    ///
    /// # Errors
    /// As [`Session::batch`]; and when a column is of a type that [`Value`] does not hold.
    pub fn query(&self, sql: &str, values: Vec<Value>) -> Result<Rows, Failure> {
        let (wire, sql) = (Arc::clone(&self.wire), sql.to_owned());
        let rows = self.answer(self.patience, async move { wire.query_typed(&sql, &typed(&values)).await })?;
        read(&rows).map_err(|error| Failure::Other(broken(&error)))
    }

    fn answer<T: Send + 'static>(
        &self,
        patience: Duration,
        request: impl Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    ) -> Result<T, Failure> {
        match wait(&self.driver.tasks, Some(patience + GRACE), request) {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Err(Failure::Taken),
            Some(Err(error)) => Err(Failure::Other(broken(&error))),
            None => {
                self.late.store(true, Ordering::Relaxed);
                Err(Failure::Other(late()))
            }
        }
    }
}

/// Runs `work` among `tasks` and blocks until it is done, or until its time is up.
fn wait<T: Send + 'static>(
    tasks: &Handle,
    patience: Option<Duration>,
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (done, result) = sync_channel(1);
    // A task that panicked leaves nothing behind, and drops its end of the channel.
    let task = tasks.spawn(async move { done.send(work.await) });
    let result = match patience {
        None => result.recv().ok(),
        Some(patience) => result.recv_timeout(patience).ok(),
    };
    task.abort();
    result
}

fn late() -> Error {
    failure::unavailable("the server did not answer in time")
}

fn broken(error: &tokio_postgres::Error) -> Error {
    failure::unavailable(failure::chain(error)).with(error.code().map(SqlState::code), Error::sqlstate)
}

impl Value {
    /// Returns the type given to the server, which infers that of NULL itself.
    fn kind(&self) -> Type {
        match self {
            Self::Null => Type::UNKNOWN,
            Self::Integer(_) => Type::INT8,
            Self::Text(_) => Type::TEXT,
            Self::Octets(_) => Type::BYTEA,
        }
    }
}

/// The values as the wire library takes them, each with its type.
fn typed(values: &[Value]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    values.iter().map(|value| (value as &(dyn ToSql + Sync), value.kind())).collect()
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(value) => value.to_sql(kind, out),
            Self::Text(value) => value.to_sql(kind, out),
            Self::Octets(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn read(rows: &[Row]) -> Result<Rows, tokio_postgres::Error> {
    let Some(first) = rows.first() else { return Ok(Rows::default()) };
    let columns = first.columns().iter().map(|column| column.name().to_owned()).collect();
    let cells =
        |row: &Row| first.columns().iter().enumerate().map(|(index, column)| cell(row, index, column)).collect();
    Ok(Rows { columns, rows: rows.iter().map(cells).collect::<Result<_, _>>()? })
}

fn cell(row: &Row, index: usize, column: &Column) -> Result<Value, tokio_postgres::Error> {
    let integer = |value: Option<i64>| value.map_or(Value::Null, Value::Integer);
    Ok(match *column.type_() {
        Type::INT8 => integer(row.try_get(index)?),
        Type::INT4 => integer(row.try_get::<_, Option<i32>>(index)?.map(i64::from)),
        Type::BOOL => integer(row.try_get::<_, Option<bool>>(index)?.map(i64::from)),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.map_or(Value::Null, Value::Octets),
        // The library refuses types that are not read like a text.
        _ => row.try_get::<_, Option<String>>(index)?.map_or(Value::Null, Value::Text),
    })
}
