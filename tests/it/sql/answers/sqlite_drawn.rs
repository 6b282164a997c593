//! Statements for SQLite, drawn by chance: expressions over values of each storage class, rows and changes of tables
//! whose columns hold what they are not declared to. Each value stands there as a literal, or as a parameter.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::support::dice::Random;

/// Tables, triggers and views of every kind.
pub(super) const MADE: &str = "
    CREATE TABLE typed (
        id INTEGER PRIMARY KEY, small SMALLINT NOT NULL DEFAULT 0, flag BOOLEAN, price DECIMAL(10,2), ratio NUMERIC,
        real_number REAL, name VARCHAR(40) COLLATE NOCASE, words TEXT, born DATE, seen TIMESTAMP, doc JSON, data BLOB,
        code UUID, bare, doubled AS (small * 2), whole INT CHECK (whole IS NULL OR whole < 1000)
    );
    CREATE TABLE severe (id INTEGER PRIMARY KEY, n INT, r REAL, t TEXT, b BLOB, a ANY) STRICT;
    CREATE TABLE keyed (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
    CREATE TABLE log (what, id);
    CREATE TRIGGER logged AFTER UPDATE ON keyed BEGIN INSERT INTO log VALUES ('update', new.k), ('more', old.v); END;
    CREATE TRIGGER refused BEFORE DELETE ON severe WHEN old.id = 1 BEGIN SELECT RAISE(ABORT, 'kept for good'); END;
    CREATE VIEW shown AS SELECT k, v FROM keyed;
    CREATE TRIGGER inserted INSTEAD OF INSERT ON shown BEGIN INSERT INTO keyed VALUES (new.k, new.v); END;
    CREATE TABLE parents (id INTEGER PRIMARY KEY, n UNIQUE);
    CREATE TABLE children (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parents (id) ON DELETE CASCADE);
    INSERT INTO keyed VALUES ('a', 1), ('b', 'two'), ('c', x'03'), ('d', 4.5), ('e', NULL);
    INSERT INTO parents VALUES (1, 'x'), (2, 'y'), (3, NULL); INSERT INTO children VALUES (1, 1), (2, 1), (3, 2);
    INSERT INTO severe VALUES (1, 1, 1, 'one', x'01', '1'), (2, NULL, 2.5, '', x'', 1), (3, 3, 1e300, 'é', NULL, 1.0);";

/// Columns of `typed` that take anything.
pub(super) const COLUMNS: &[&str] =
    &["flag", "price", "ratio", "real_number", "name", "words", "born", "seen", "doc", "data", "code", "bare"];

/// A literal, and the JSON that means it: with `x` in front its octets in hex.
type Sample = (&'static str, &'static str);

pub(super) const SAMPLES: &[Sample] = &[
    ("0", "0"),
    ("1", "1"),
    ("(-1)", "-1"),
    ("7", "7"),
    // Behind IS the words themselves are operators.
    ("(1 = 1)", "true"),
    ("(1 = 0)", "false"),
    ("NULL", "null"),
    ("9223372036854775807", "9223372036854775807"),
    ("(-9223372036854775808)", "-9223372036854775808"),
    // Behind a minus the engine reads the digits themselves as a part of one integer.
    ("9.223372036854775808e18", "9223372036854775808"),
    ("(-9223372036854775809)", "-9223372036854775809"),
    ("9007199254740993", "9007199254740993"),
    ("123456789012345678901234567890", "123456789012345678901234567890"),
    ("1.0", "1.0"),
    ("(-0.0)", "-0.0"),
    ("0.1", "0.1"),
    ("2.5", "2.5"),
    ("10.500000000000000001", "10.500000000000000001"),
    ("1e3", "1e3"),
    ("1e15", "1e15"),
    ("1e16", "1E16"),
    ("9e999", "9e999"),
    ("5e-324", "5e-324"),
    ("1e-400", "1e-400"),
    ("1.7976931348623157e308", "1.7976931348623157e308"),
    ("''", "\"\""),
    ("'1'", "\"1\""),
    ("'1.50'", "\"1.50\""),
    ("' 7 '", "\" 7 \""),
    ("'NULL'", "\"NULL\""),
    ("'true'", "\"true\""),
    ("'it''s \"q\"'", "\"it's \\\"q\\\"\""),
    ("'X''00'''", "\"X'00'\""),
    ("'aGVsbG8='", "\"aGVsbG8=\""),
    ("'2024-02-29 12:00:00'", "\"2024-02-29 12:00:00\""),
    ("'{\"a\": [1, 2.50, null]}'", "\"{\\\"a\\\": [1, 2.50, null]}\""),
    ("'[1,2]'", "\"[1,2]\""),
    ("'-- no @p0 ; [x]'", "\"-- no @p0 ; [x]\""),
    ("'Ünï美😀'", "\"Ünï美😀\""),
    ("'1e3'", "\"1e3\""),
    ("'0x10'", "\"0x10\""),
    ("x''", "x"),
    ("x'00ff'", "x00ff"),
    ("x'68656c6c6f'", "x68656c6c6f"),
    ("x'31'", "x31"),
];

/// What has no JSON of its own.
const OTHERS: &[&str] = &[
    "0x7fffffffffffffff",
    "0xffffffffffffffff",
    "CAST(x'ff41' AS TEXT)",
    "'a' || char(0) || 'b'",
    "zeroblob(3)",
    "1_000",
    "current_date IS NOT NULL",
    "json('{\"a\":1}')",
    "jsonb('[1]')",
    "(SELECT max(id) FROM typed)",
    "(SELECT 1 WHERE 0)",
    "id",
    "bare",
    "data",
    "price",
    "words",
];

/// `#` is an expression.
const FORMS: &[&str] = &[
    "# + #",
    "# - #",
    "# * #",
    "# / #",
    "# % #",
    "# || #",
    "# & #",
    "# | #",
    "# << #",
    "# >> #",
    "# < #",
    "# <= #",
    "# = #",
    "# <> #",
    "# IS #",
    "# IS NOT #",
    "# IS DISTINCT FROM #",
    "# AND #",
    "# OR #",
    "# LIKE #",
    "# GLOB #",
    "# -> #",
    "# ->> #",
    "# COLLATE NOCASE = #",
    "# BETWEEN # AND #",
    "# IN (#, #)",
    "# NOT IN (#)",
    "CASE # WHEN # THEN # ELSE # END",
    "CASE WHEN # THEN # END",
    "CAST(# AS INTEGER)",
    "CAST(# AS REAL)",
    "CAST(# AS TEXT)",
    "CAST(# AS BLOB)",
    "CAST(# AS NUMERIC)",
    "- #",
    "+ #",
    "~ #",
    "NOT #",
    "# ISNULL",
    "# NOTNULL",
    "abs(#)",
    "round(#, 1)",
    "round(#)",
    "typeof(#)",
    "quote(#)",
    "hex(#)",
    "length(#)",
    "lower(#)",
    "upper(#)",
    "coalesce(#, #)",
    "ifnull(#, #)",
    "nullif(#, #)",
    "max(#, #)",
    "min(#, #)",
    "substr(#, 2)",
    "substr(#, #, #)",
    "instr(#, #)",
    "printf('%s|%d|%.3f', #, #, #)",
    "format('%q %5.1f', #, #)",
    "json_array(#, #)",
    "json_quote(#)",
    "json_object('k', #)",
    "json_valid(#)",
    "json_extract(#, '$.a')",
    "json_type(#)",
    "unhex(#)",
    "unicode(#)",
    "date(#)",
    "datetime(#)",
    "julianday(#)",
    "strftime('%Y', #)",
    "iif(#, #, #)",
    "octet_length(#)",
    "sign(#)",
    "trim(#)",
    "replace(#, '1', #)",
    "concat(#, #)",
    "concat_ws('|', #, #)",
    "(SELECT #)",
    "EXISTS (SELECT 1 WHERE #)",
    "(#, #) = (#, #)",
    "likely(#)",
    "(SELECT group_concat(v, ';') FROM (SELECT # AS v UNION ALL SELECT #))",
    "(SELECT sum(v) FROM (SELECT # AS v UNION ALL SELECT #))",
    "(SELECT total(v) FROM (SELECT # AS v UNION ALL SELECT #))",
    "(SELECT avg(v) FROM (SELECT # AS v UNION ALL SELECT #))",
    "(SELECT max(v) FROM (SELECT # AS v UNION ALL SELECT #))",
    "(SELECT json_group_array(v) FROM (SELECT # AS v UNION ALL SELECT #))",
    "# IS TRUE",
    "# IS NOT FALSE",
    "(SELECT count(*) FROM typed WHERE bare = #)",
    "(SELECT count(*) FROM typed WHERE words < #)",
    "(SELECT count(*) FROM typed WHERE price > #)",
    "(SELECT group_concat(id) FROM typed WHERE name = #)",
];

/// Statements; `#` is an expression, `%` a column, `^` a label.
const SHAPES: &[&str] = &[
    "SELECT # AS ^, # AS ^ FROM typed WHERE id < 4",
    "SELECT # AS ^ FROM typed",
    "SELECT DISTINCT # AS ^ FROM typed",
    "SELECT typed.*, # AS ^ FROM typed WHERE #",
    "SELECT % AS ^, % FROM typed WHERE % = #",
    "SELECT % , count(*) AS ^, sum(#) AS ^ FROM typed GROUP BY % ORDER BY 1, 2",
    "SELECT %, # AS ^ FROM typed ORDER BY %, id LIMIT 5 OFFSET 1",
    "SELECT id, lag(%) OVER (ORDER BY id) AS ^, sum(%) OVER (ORDER BY id) AS ^ FROM typed",
    "WITH w (a, b) AS (VALUES (#, #), (#, #)) SELECT a, b, w.* FROM w LEFT JOIN (SELECT 1 AS id) AS typed WHERE a IS NOT #",
    "WITH RECURSIVE n (id, bare, data, price, words) AS (SELECT 1, #, #, #, # UNION ALL SELECT id + 1, data, bare, words, price FROM n WHERE id < 4) SELECT * FROM n",
    "SELECT a.k AS ^, b.v AS ^, a.v FROM keyed AS a JOIN keyed AS b ON a.k <= b.k LEFT JOIN typed ON typed.id = 1 WHERE #",
    "SELECT k, v FROM shown",
    "SELECT *, *, rowid FROM severe",
    "SELECT e.key, e.value, e.type, e.atom FROM typed, json_each('{\"a\": 1, \"b\": [2.50], \"c\": null}') AS e WHERE typed.id = 1 AND # IS NOT NULL",
    "INSERT INTO typed (%, small) SELECT #, 3 FROM typed WHERE id = 1 RETURNING %, id > 0 AS ^, typeof(%) AS ^",
    "INSERT INTO severe (n, r, t, b, a) SELECT 1, 2, #, x'00', # FROM typed WHERE id = 1",
    "INSERT INTO severe (n, a) SELECT #, # FROM typed WHERE id = 2 RETURNING *",
    "INSERT INTO typed (whole) SELECT # FROM typed WHERE id = 3",
    "INSERT INTO typed (id, small) SELECT #, 1 FROM typed WHERE id = 1",
    "INSERT INTO typed (small) SELECT # FROM typed WHERE id = 1",
    "INSERT OR IGNORE INTO keyed SELECT #, # FROM typed WHERE id < 3",
    "INSERT OR REPLACE INTO keyed SELECT 'a', # FROM typed WHERE id < 3 RETURNING k, v",
    "REPLACE INTO parents SELECT 1, # FROM typed WHERE id = 1",
    "INSERT INTO keyed SELECT 'b', # FROM typed WHERE id = 1 ON CONFLICT (k) DO UPDATE SET v = excluded.v WHERE excluded.v IS NOT NULL RETURNING *",
    "INSERT INTO shown SELECT 'new', # FROM typed WHERE id = 1",
    "INSERT INTO children SELECT id + 10, # FROM typed WHERE id = 1",
    "UPDATE typed SET % = # WHERE id < 3",
    "UPDATE typed SET % = #, % = # WHERE # RETURNING id, %",
    "UPDATE keyed SET v = typed.% FROM typed WHERE typed.id = 1 AND keyed.k < 'c'",
    "UPDATE OR IGNORE parents SET n = # FROM typed WHERE typed.id = 1",
    "UPDATE typed SET small = NULL WHERE # AND id = 1",
    "DELETE FROM typed WHERE #",
    "DELETE FROM typed",
    "DELETE FROM parents WHERE id = 1",
    "DELETE FROM severe WHERE id = 1 OR # IN (SELECT 7 FROM typed)",
    "DELETE FROM keyed WHERE k > 'c' RETURNING k, v AS ^",
    "WITH w AS (SELECT id, % AS bare FROM typed) DELETE FROM keyed WHERE v IN (SELECT bare FROM w)",
    "WITH w AS (SELECT id FROM typed WHERE id < 3) UPDATE typed SET bare = 'x' WHERE id IN (SELECT id FROM w)",
    "CREATE TABLE made AS SELECT # AS a FROM typed",
    "CREATE TABLE made (a, b DEFAULT 7)",
    "CREATE INDEX made ON typed (%, words)",
    "ALTER TABLE keyed ADD COLUMN more DEFAULT 'x'",
    "DROP TABLE children",
    "EXPLAIN QUERY PLAN VALUES (1), (2)",
    "SELECT # AS ^ FROM typed WHERE id = 1; SELECT # AS ^ FROM typed WHERE id = 2;",
];

/// A statement, `\u{1}` for each value.
pub(super) struct Drawn {
    text: String,
    values: Vec<Sample>,
}

impl Drawn {
    pub(super) fn draw(dice: &mut Random, labels: &[&str]) -> Self {
        let mut drawn = Self { text: String::new(), values: Vec::new() };
        // Rows without a table have no columns to name.
        let shape =
            if dice.once_in(8) { "SELECT * FROM (VALUES (1, 'x'), (2, x'00')) AS typed" } else { dice.one(SHAPES) };
        for each in shape.chars() {
            match each {
                '#' => drawn.expression(dice, 2),
                '%' => drawn.text.push_str(dice.one(COLUMNS)),
                '^' => drawn.text.push_str(&format!("\"{}\"", dice.one(labels).replace('"', "\"\""))),
                other => drawn.text.push(other),
            }
        }
        drawn
    }

    fn expression(&mut self, dice: &mut Random, depth: usize) {
        if depth == 0 || dice.once_in(4) {
            if dice.once_in(4) {
                self.text.push_str(dice.one(OTHERS));
            } else {
                self.values.push(*dice.choose(SAMPLES));
                self.text.push('\u{1}');
            }
            return;
        }
        self.text.push('(');
        for (at, piece) in dice.one(FORMS).split('#').enumerate() {
            if at > 0 {
                self.expression(dice, depth - 1);
            }
            self.text.push_str(piece);
        }
        self.text.push(')');
    }

    fn with(&self, value: impl Fn(usize, &Sample) -> String) -> String {
        let mut pieces = self.text.split('\u{1}');
        let mut text = pieces.next().unwrap().to_owned();
        pieces.zip(&self.values).enumerate().for_each(|(at, (piece, sample))| {
            text.push_str(&value(at, sample));
            text.push_str(piece);
        });
        text
    }

    pub(super) fn literal(&self) -> String {
        self.with(|_, (literal, _)| (*literal).to_owned())
    }

    /// With the values as parameters, and these as JSON.
    pub(super) fn bound(&self) -> (String, String) {
        let given: Vec<String> =
            self.values.iter().enumerate().map(|(at, (_, json))| format!("\"@p{at}\":{}", given(json))).collect();
        (self.with(|at, _| format!("@p{at}")), format!("{{{}}}", given.join(",")))
    }
}

fn given(json: &str) -> String {
    match json.strip_prefix('x') {
        Some(hex) => {
            let octets = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
            json!({"dataType": 1, "value": STANDARD.encode(octets.collect::<Vec<u8>>())}).to_string()
        }
        None => json.to_owned(),
    }
}
