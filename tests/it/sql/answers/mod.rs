//! The service beside the server itself: ordinary statements, and such over every type, each as it stands and
//! rewritten as callers of such services write them (the connection's name in front of a table, brackets, `@name`
//! for a value), through `/api/query` and once in a session of the server's own. Labels, types, values, counts and
//! errors are the same, and CSV, newline-delimited JSON and Arrow tell what JSON tells. The same on SQLite is in
//! `sqlite.rs`.
//!
//! `PORTICO_SEED` repeats a run, `PORTICO_CASES` makes it longer. `PORTICO_REGRESSION` names a folder of the
//! server's own regression tests (`src/test/regress`), which are then run too.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use futures_util::future::join_all;
use portico_actors::event::Event;
use portico_actors::sql::{Dialect, Naming, statements};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::support::app::{TestApp, eventually, within};
use crate::support::dice::{Random, cases};
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::walls::server::say;

mod drawn;
mod forms;
mod regression;
mod said;
mod samples;
mod sqlite;
mod sqlite_drawn;
mod written;

use drawn::Drawn;
use said::{NONE, Said, agree, asked, difference, said};
use written::{NAMES, Written, changed, wrapped, written};

/// What is the same for both: the driver's own settings (`postgres/session/setup.rs`), and what a database may choose.
const SETTINGS: &str = "SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres'; SET bytea_output = 'hex';
    SET extra_float_digits = 1; SET statement_timeout = '60s'; SET client_min_messages = error";
/// Sizes, plans and the order of rows are what they were: nobody vacuums or analyzes in between.
const UNTOUCHED: &str = "DO $$ DECLARE one regclass; BEGIN
    FOR one IN SELECT oid FROM pg_class WHERE relkind IN ('r', 'm')
        AND (relnamespace >= 16384 OR relnamespace = 'public'::regnamespace)
    LOOP EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', one); END LOOP; END $$";
/// How many statements are tried where nothing is said of it.
const COUNT: usize = 800;
/// How often what differs is tried.
const ATTEMPTS: usize = 3;
/// How many are tried at a time, each in a database of its own.
const AT_A_TIME: usize = 3;

async fn by_server(admin: &Client, text: &str) -> Said {
    let (mut labels, mut rows) = (None, Vec::new());
    let messages = match within("the server's own answer", admin.simple_query(text)).await {
        Ok(messages) => messages,
        Err(error) => {
            let Some(error) = error.as_db_error() else {
                return Said::Refused { state: format!("{error}"), position: None };
            };
            let position = match error.position() {
                Some(tokio_postgres::error::ErrorPosition::Original(position)) => usize::try_from(*position).ok(),
                _ => None,
            };
            return Said::Refused { state: error.code().code().to_owned(), position };
        }
    };
    let mut last = Said::Changed(0);
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                labels = Some(columns.iter().map(|column| column.name().to_owned()).collect());
            }
            SimpleQueryMessage::Row(row) => {
                rows.push((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect());
            }
            SimpleQueryMessage::CommandComplete(count) => {
                let rows = std::mem::take(&mut rows);
                last = labels.take().map_or(Said::Changed(count), |labels| Said::Rows { labels, rows });
            }
            _ => {}
        }
    }
    last
}

/// The same, of which nothing stays.
async fn undone(admin: &Client, text: &str) -> Said {
    admin.batch_execute("BEGIN").await.unwrap();
    let said = by_server(admin, text).await;
    admin.batch_execute("ROLLBACK").await.unwrap();
    said
}

async fn by_portico(app: &TestApp, text: &str, parameters: &str) -> Said {
    said(&asked(app, text, parameters).await)
}

/// The statements of the corpus without values of their own (`walls/corpus`).
fn corpus() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/walls/corpus");
    let mut all = Vec::new();
    for file in ["selects.sql", "tools.sql", "writes.sql"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let blocks = text.split("\n--# ").skip(1).filter_map(|block| block.split_once('\n'));
        all.extend(
            blocks
                .map(|(_, text)| text.trim().to_owned())
                .filter(|text| !text.starts_with("--@") && !text.contains("SELECT [")),
        );
    }
    // Chance may say the same twice.
    all.retain(|text| !["random()", "tablesample"].iter().any(|word| text.to_lowercase().contains(word)));
    assert!(all.len() > 200, "{}", all.len());
    all
}

async fn service() -> (TestApp, Client) {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin.batch_execute("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET TimeZone = ''UTC''', current_database()); END $$; SET TimeZone = 'UTC'").await.unwrap();
    admin.batch_execute(SETTINGS).await.unwrap();
    (fixture::with_postgres(&url, "access = \"read-write\"").await, admin)
}

/// What came of a run.
#[derive(Default)]
struct Tally {
    statements: usize,
    answers: usize,
    refusals: usize,
    forms: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.statements += other.statements;
        self.answers += other.answers;
        self.refusals += other.refusals;
        self.forms += other.forms;
        self.wrong.extend(other.wrong);
    }

    fn differs(&mut self, text: &str, how: &str) {
        let told = format!("{text}\n    {how}");
        say(&told);
        self.wrong.push(told);
    }

    /// Says what it came to; nothing may differ.
    fn end(self, count: usize) {
        let Self { statements, answers, refusals, forms, wrong } = self;
        say(&format!(
            "{statements} statements: {answers} answers, {refusals} refusals, {forms} in another form, {} differ",
            wrong.len()
        ));
        assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
        assert!(statements * 2 > count && answers > statements && refusals * 20 > statements && forms * 2 > statements);
    }
}

/// Whether a text holds no statement at all.
fn is_blank(text: &str) -> bool {
    let naming = Naming { connection: "shop", others: &[] };
    statements(text, Dialect::POSTGRESQL, naming).is_err_and(|error| error.message.contains("holds no statement"))
}

/// Whether both refuse a text that the service reads otherwise: it has brackets for names, has the server read
/// statements one after another, and keeps transactions, settings and other connections' names for itself.
fn is_read_otherwise(text: &str, ours: &Said, theirs: &Said) -> bool {
    let Said::Refused { state: theirs, .. } = theirs else { return false };
    // What the service says itself has no SQLSTATE.
    let is_own = |state: &str| state.starts_with('{');
    (text.contains('[') && theirs == "42601")
        || matches!(ours, Said::Refused { state, .. } if text.contains(';') || is_own(state))
}

/// A statement, and in what other ways it is asked.
struct Case {
    text: String,
    /// With other names, and with parameters.
    others: Vec<Written>,
    /// What its columns are told to be.
    types: Vec<&'static str>,
    /// Whether the server says the same each time, and of the same text.
    is_certain: bool,
    is_known: bool,
}

/// A service, the server it stands before, and what that has answered.
struct Shop {
    app: TestApp,
    admin: Client,
    tables: Vec<String>,
    known: HashMap<String, Option<Said>>,
}

impl Shop {
    async fn open() -> Self {
        let (app, admin) = service().await;
        admin.batch_execute("DROP TABLE orders, customers CASCADE").await.unwrap();
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/walls/corpus");
        admin.batch_execute(&fs::read_to_string(folder.join("fixture.sql")).unwrap()).await.unwrap();
        admin.batch_execute(samples::MADE).await.unwrap();
        admin.batch_execute(UNTOUCHED).await.unwrap();
        let named = "SELECT relname::text FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v')";
        let tables = admin.query(named, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
        Self { app, admin, tables, known: HashMap::new() }
    }

    /// What the server says of it, unless it says something else each time.
    async fn server(&mut self, text: &str, is_certain: bool, is_known: bool) -> Option<Said> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        // Of the server's own database there is no other name.
        let own = text.replace("\"shop\".", "").replace("shop.", "");
        let said = undone(&self.admin, &own).await;
        // Comments alone are no statement.
        let is_nothing = matches!(&said, Said::Changed(0)) && is_blank(&own);
        // What tells the time, or chance, or the plan's costs is another each time; what takes too long says nothing.
        let is_late = matches!(&said, Said::Refused { state, .. } if state == "57014");
        let said = (!is_late && !is_nothing && (is_certain || undone(&self.admin, &own).await == said)).then_some(said);
        if is_known {
            self.known.insert(text.to_owned(), said.clone());
        }
        said
    }

    /// Tries one in each way. What differs counts where it does so again: a machine that is busy ends a statement
    /// before its time.
    async fn tries(&mut self, case: &Case, dice: &Random, tally: &mut Tally) {
        for attempt in 1.. {
            let mut found = Tally::default();
            self.tries_once(case, &mut dice.clone(), &mut found).await;
            let events = std::mem::take(&mut *self.app.events.lock().unwrap());
            if found.wrong.is_empty() || attempt == ATTEMPTS {
                return tally.add(found);
            }
            say(&format!("attempt {attempt} of {ATTEMPTS}: {} differ", found.wrong.len()));
            self.known.remove(&case.text);
            // A source that gives no sign of life in time counts as away for a while.
            let app = &self.app;
            for event in &events {
                if let Event::ConnectionDown { cause, .. } = event {
                    say(&format!("the connection is down: {cause:?}"));
                }
            }
            eventually("the source to be there", async || asked(app, "SELECT 1", NONE).await.error.is_none()).await;
        }
    }

    async fn tries_once(&mut self, case: &Case, dice: &mut Random, tally: &mut Tally) {
        let Case { text, others, types, is_certain, is_known } = case;
        let Some(mut theirs) = self.server(text, *is_certain, *is_known).await else { return };
        tally.statements += 1;
        let is_ordered = text.to_lowercase().contains("order by");
        let document = asked(&self.app, text, NONE).await;
        let moved = text.contains("shop.") || text.contains("\"shop\"") || text.contains('[');
        let ours = said(&document);
        if !agree(&ours, &theirs, is_ordered, moved) && *is_known {
            // What a sequence has come to is another by now.
            self.known.remove(text);
            let Some(again) = self.server(text, *is_certain, false).await else { return };
            theirs = again;
        }
        let meant = &theirs;
        let judge = |tally: &mut Tally, text: &str, ours: &Said, moved: bool| {
            if !agree(ours, meant, is_ordered, moved) {
                return tally.differs(text, &difference(ours, meant));
            }
            *(if matches!(ours, Said::Refused { .. }) { &mut tally.refusals } else { &mut tally.answers }) += 1;
        };
        if is_read_otherwise(text, &ours, &theirs) {
            return;
        }
        judge(tally, text, &ours, moved);
        if let [answer] = document.results.as_slice()
            && !types.is_empty()
            && document.error.is_none()
            && answer.types() != *types
        {
            tally.differs(text, &format!("{:?} for {types:?}", answer.types()));
        }
        for other in others {
            let (text, parameters) = (other.text.as_str(), other.parameters.as_str());
            judge(tally, text, &by_portico(&self.app, text, parameters).await, true);
        }
        for form in forms::FORMS {
            // A refusal is the same in each, and a long run asks for one of them.
            if (document.error.is_some() || cases(COUNT) > COUNT) && !dice.once_in(forms::FORMS.len()) {
                continue;
            }
            let written = others.iter().find(|other| other.parameters == NONE).map_or(text, |other| &other.text);
            if let Some(told) = forms::difference(&self.app, (written, NONE), &document, form).await {
                tally.differs(written, &told);
            }
            tally.forms += 1;
        }
    }

    /// A statement of the corpus, in whatever way.
    fn draw(&self, corpus: &[String], dice: &mut Random) -> Case {
        if dice.below(5) < 2 {
            let drawn = Drawn::draw(dice);
            let (text, parameters) = drawn.bound();
            let others = vec![Written { text, parameters }];
            return Case { text: drawn.literal(), others, types: drawn.types, is_certain: true, is_known: false };
        }
        let text = dice.choose(corpus);
        let within = if dice.once_in(4) { wrapped(text, dice) } else { None };
        let is_wrapped = within.is_some();
        let text = within.unwrap_or_else(|| text.clone());
        // Of an EXPLAIN whose options nobody understands it is said first that it may write.
        if !is_wrapped && dice.once_in(3) && !text.starts_with("EXPLAIN") {
            let text = changed(&text, dice);
            return Case { text, others: Vec::new(), types: Vec::new(), is_certain: false, is_known: false };
        }
        let others = [(dice.below(NAMES), true), (dice.below(NAMES), false)]
            .map(|(names, numbers)| written(&text, "public", &self.tables, names, numbers));
        let others = others.into_iter().filter(|other| other.text != text).collect();
        Case { text, others, types: Vec::new(), is_certain: false, is_known: true }
    }
}

#[actix_web::test]
async fn answers_are_the_server_s() {
    let (corpus, count, seed) = (corpus(), cases(COUNT), Random::seeded("answers"));
    let runs = (0..AT_A_TIME).map(|place| {
        let (corpus, mut dice) = (&corpus, seed.clone().apart(place));
        async move {
            let (mut shop, mut tally) = (Shop::open().await, Tally::default());
            // Each of them once as it stands.
            let whole = corpus.iter().skip(place).step_by(AT_A_TIME).map(Some);
            for text in whole.chain(std::iter::repeat(None)).take(count / AT_A_TIME) {
                let as_it_stands = |text: &String| Case {
                    text: text.clone(),
                    others: Vec::new(),
                    types: Vec::new(),
                    is_certain: false,
                    is_known: true,
                };
                let case = text.map_or_else(|| shop.draw(corpus, &mut dice), as_it_stands);
                shop.tries(&case, &dice.clone().apart(1), &mut tally).await;
            }
            tally
        }
    });
    let mut all = Tally::default();
    join_all(runs).await.into_iter().for_each(|tally| all.add(tally));
    all.end(count);
}
