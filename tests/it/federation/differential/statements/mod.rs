//! Random statements over the tables of two connections.

mod correlated;
mod shapes;
mod values;

use crate::support::dice::Random;

/// What the values of a column are, as far as statements combine them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Number,
    Float,
    Text,
    Boolean,
    Date,
    Timestamp,
    Zoned,
    Uuid,
}

/// Name and kind of each column.
type Columns = &'static [(&'static str, Type)];

const TABLES: &[(&str, Columns)] = &[
    (
        "shop.public.things",
        &[
            ("id", Type::Number),
            ("s", Type::Number),
            ("n", Type::Number),
            ("l", Type::Number),
            ("p", Type::Number),
            ("q", Type::Number),
            ("f", Type::Float),
            ("b", Type::Boolean),
            ("t", Type::Text),
            ("v", Type::Text),
            ("c", Type::Text),
            ("y", Type::Text),
            ("d", Type::Date),
            ("ts", Type::Timestamp),
            ("tz", Type::Zoned),
            ("u", Type::Uuid),
        ],
    ),
    (
        "shop.public.few",
        &[
            ("id", Type::Number),
            ("n", Type::Number),
            ("t", Type::Text),
            ("c", Type::Text),
            ("p", Type::Number),
            ("d", Type::Date),
        ],
    ),
    (
        "crm.main.others",
        &[
            ("id", Type::Number),
            ("s", Type::Number),
            ("n", Type::Number),
            ("l", Type::Number),
            ("p", Type::Number),
            ("f", Type::Float),
            ("b", Type::Boolean),
            ("t", Type::Text),
            ("k", Type::Text),
            ("v", Type::Text),
            ("d", Type::Date),
            ("ts", Type::Timestamp),
        ],
    ),
    ("crm.main.some", ALL_HAVE),
];

/// What each of these tables has.
const ALL_HAVE: Columns = &[("id", Type::Number), ("n", Type::Number), ("t", Type::Text)];

/// The columns, each with a name of its own.
fn named(columns: impl Iterator<Item = String>) -> String {
    columns.enumerate().map(|(at, column)| format!("{column} AS r{at}")).collect::<Vec<_>>().join(", ")
}

/// One statement. It may name one connection alone.
pub(super) fn statement(random: &mut Random) -> String {
    Draw { random, scope: Vec::new(), aliases: 0 }.statement()
}

/// Draws one statement.
struct Draw<'a> {
    random: &'a mut Random,
    /// Aliases in scope, with their columns.
    scope: Vec<(String, Columns)>,
    aliases: usize,
}

impl Draw<'_> {
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.random.below(100) < percent
    }

    fn table(&mut self) -> (String, Columns) {
        let (name, columns) = self.one(TABLES);
        let alias = format!("a{}", self.aliases);
        self.aliases += 1;
        let (table, columns) = match self.random.below(16) {
            0 => (format!("(SELECT * FROM {name} AS i WHERE i.id > 3 AND i.n <> 2)"), columns),
            1 => (format!("(SELECT * FROM {name} AS i ORDER BY i.id DESC LIMIT 30)"), columns),
            2 => (format!("(SELECT i.n AS id, count(*) AS n, max(i.t) AS t FROM {name} AS i GROUP BY i.n)"), ALL_HAVE),
            3 => {
                let (other, _) = self.one(TABLES);
                let (one, other) = (format!("SELECT id, n, t FROM {name}"), format!("SELECT id, n, t FROM {other}"));
                (format!("({one} {} {other})", self.one(&["UNION ALL", "UNION", "EXCEPT"])), ALL_HAVE)
            }
            4 => {
                let values =
                    "(SELECT * FROM (VALUES (1, 2, 'a'), (2, NULL, 'ä'), (NULL, 1, ''), (4, -3, NULL)) AS i(id, n, t))";
                (values.to_owned(), ALL_HAVE)
            }
            _ => (name.to_owned(), columns),
        };
        self.scope.push((alias.clone(), columns));
        (format!("{table} {alias}"), columns)
    }

    /// A column of this kind of what is in scope from `from` on.
    fn column(&mut self, kind: Type, from: usize) -> Option<String> {
        let fits: Vec<String> = self.scope[from..]
            .iter()
            .flat_map(|(alias, columns)| columns.iter().map(move |(name, type_)| (alias, name, *type_)))
            .filter(|(_, _, type_)| *type_ == kind)
            .map(|(alias, name, _)| format!("{alias}.{name}"))
            .collect();
        (!fits.is_empty()).then(|| fits[self.random.below(fits.len())].clone())
    }

    /// A number of what stands in scope from `from` on.
    fn number(&mut self, from: usize) -> String {
        self.column(Type::Number, from).expect("every table has a number")
    }

    fn literal(&mut self, kind: Type) -> String {
        match kind {
            Type::Number => self.one(&["0", "1", "-3", "2.5", "9007199254740993", "1.50", "0.250", "100"]).to_owned(),
            Type::Float => self.one(&["0.5", "CAST(0.125 AS DOUBLE PRECISION)", "1"]).to_owned(),
            Type::Text => self.one(&["'a'", "'B'", "'ä'", "''", "'a '", "'p'", "'x'", "'z'", "' '"]).to_owned(),
            Type::Boolean => self.one(&["true", "false"]).to_owned(),
            Type::Date => self.one(&["DATE '2024-02-29'", "DATE '2024-03-01'", "DATE '1999-12-31'"]).to_owned(),
            Type::Timestamp => {
                self.one(&["TIMESTAMP '2024-02-29 00:10:00'", "TIMESTAMP '2024-02-28 23:30:00'"]).to_owned()
            }
            Type::Zoned => "CAST('2024-03-31T01:10:00Z' AS TIMESTAMP WITH TIME ZONE)".to_owned(),
            Type::Uuid => "'00000000-0000-4000-8000-000000000007'".to_owned(),
        }
    }

    fn value(&mut self, kind: Type, from: usize, depth: usize) -> String {
        if depth > 0 && self.chance(30) {
            let (one, other) = (self.value(kind, from, depth - 1), self.value(kind, from, depth - 1));
            match kind {
                // Which of two conditions is looked at first is nobody's to say: products do not overflow.
                Type::Number if self.chance(30) => return format!("({one} * {})", self.one(&["2", "-1", "0.5"])),
                Type::Number => return format!("({one} {} {other})", self.one(&["+", "-"])),
                Type::Text if self.chance(50) => return format!("substr({one}, {})", self.one(&["1, 1", "2", "1, 3"])),
                Type::Text => return format!("({one} || {other})"),
                _ => return format!("coalesce({one}, {other})"),
            }
        }
        if depth > 0 && self.chance(20) {
            return self.function(kind, from);
        }
        if depth > 0 && self.chance(10) {
            let (when, then, other) = (self.condition(from, 0), self.value(kind, from, 0), self.value(kind, from, 0));
            return format!("CASE WHEN {when} THEN {then} ELSE {other} END");
        }
        match self.column(kind, from) {
            Some(column) if self.chance(80) => column,
            _ => self.literal(kind),
        }
    }

    /// A value to group by: a bare literal would be a column's number there.
    fn key(&mut self, kind: Type) -> String {
        match self.column(kind, 0) {
            Some(column) if self.chance(90) => column,
            _ => {
                let number = self.number(0);
                format!("CASE WHEN {number} > 2 THEN {} ELSE {} END", self.literal(kind), self.literal(kind))
            }
        }
    }

    fn kind(&mut self) -> Type {
        self.one(&[
            Type::Number,
            Type::Number,
            Type::Number,
            Type::Text,
            Type::Text,
            Type::Text,
            Type::Date,
            Type::Timestamp,
            Type::Boolean,
            Type::Float,
            Type::Zoned,
            Type::Uuid,
        ])
    }

    fn condition(&mut self, from: usize, depth: usize) -> String {
        if depth > 0 && self.chance(35) {
            let (one, other) = (self.condition(from, depth - 1), self.condition(from, depth - 1));
            return match self.random.below(4) {
                0 => format!("({one} OR {other})"),
                1 => format!("NOT ({one})"),
                _ => format!("({one} AND {other})"),
            };
        }
        let kind = self.kind();
        let value = self.value(kind, from, depth.min(1));
        match self.random.below(14) {
            0 => format!("{value} IS {}NULL", self.one(&["", "NOT "])),
            1 => {
                let listed: Vec<String> = (0..=self.random.below(3)).map(|_| self.literal(kind)).collect();
                format!("{value} {}IN ({})", self.one(&["", "NOT "]), listed.join(", "))
            }
            2 if kind == Type::Text => {
                let pattern = self.one(&["'a%'", "'%b'", "'_'", "'a\\%'", "'%'", "'Z%'", "''"]);
                format!("{value} {}{} {pattern}", self.one(&["", "NOT "]), self.one(&["LIKE", "LIKE", "ILIKE"]))
            }
            3 => {
                let not = self.one(&["", "", "NOT "]);
                format!("{value} {not}BETWEEN {} AND {}", self.literal(kind), self.literal(kind))
            }
            5 if kind == Type::Boolean => {
                format!("({value}) IS {}{}", self.one(&["", "NOT "]), self.one(&["TRUE", "FALSE", "UNKNOWN"]))
            }
            6 if kind == Type::Timestamp => {
                let (other, interval) = (self.value(kind, from, 0), self.one(&["1 hour", "40 minutes", "0 days"]));
                format!("{value} - {other} {} INTERVAL '{interval}'", self.one(&[">", "<=", "="]))
            }
            7 => {
                let (one, other) = (self.value(Type::Number, from, 0), self.value(Type::Number, from, 0));
                let literal = self.literal(kind);
                format!("({value}, {one}) = ({literal}, {other})")
            }
            8 if kind == Type::Text => {
                let pattern = self.one(&["'a'", "'^[ab]$'", "'^.?$'", "'[[:alpha:]]%'", "'b|z'", "'^(a|Z).*'", "' $'"]);
                format!("CAST({value} AS text) {} {pattern}", self.one(&["~", "!~", "~*", "!~*"]))
            }
            9 if kind == Type::Number => {
                let (divisor, most) = (self.number(from), self.one(&["1", "-2", "5"]));
                let guarded =
                    self.one(&["(# <> 0 AND 12 / # > @)", "(# = 0 OR 12 / # > @)", "(NOT (# <> 0 AND 12 / # < @))"]);
                guarded.replace('#', &divisor).replace('@', most)
            }
            10 if kind == Type::Date => {
                let days = self.one(&["+ INTERVAL '1 day'", "- INTERVAL '1 month'", "+ INTERVAL '36 hours'"]);
                format!("{value} {} {} {days}", self.one(&["<", ">=", "="]), self.literal(kind))
            }
            4 => format!("{value} IS {}DISTINCT FROM {}", self.one(&["", "NOT "]), self.value(kind, from, 0)),
            _ if kind == Type::Boolean => value,
            _ => {
                let operator = self.one(&["=", "=", "<>", "<", "<=", ">", ">="]);
                let other = if self.chance(10) { self.literal(kind) } else { self.value(kind, from, 0) };
                if self.chance(20) {
                    format!("{other} {operator} {value}")
                } else {
                    format!("{value} {operator} {other}")
                }
            }
        }
    }

    /// A condition that joins what stands last with what stands before it.
    fn join_condition(&mut self) -> String {
        let last = self.scope.len() - 1;
        let mut equal = Vec::new();
        for _ in 0..=usize::from(self.chance(25)) {
            let kind = self.one(&[Type::Number, Type::Number, Type::Text, Type::Date]);
            if let Some(right) = self.column(kind, last) {
                let held = self.scope.pop().unwrap();
                let left = self.column(kind, 0);
                self.scope.push(held);
                equal.extend(left.map(|left| format!("{left} = {right}")));
            }
        }
        if equal.is_empty() || self.chance(15) {
            equal.push(self.condition(last, 0));
        }
        equal.join(" AND ")
    }

    /// A query of so many columns of these kinds.
    fn select(&mut self, kinds: &[Type], outer: bool) -> String {
        let (scope, from) = (self.scope.clone(), self.scope.len());
        self.scope.clear();
        let (mut text, _) = self.table();
        for place in 0..self.one(&[0, 1, 1, 1, 2]) {
            let join = self.one(&["JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
            let (table, _) = self.table();
            // Behind another join there would be two columns of that name.
            let on = if place == 0 && join == "JOIN" && self.chance(15) {
                "USING (id)".to_owned()
            } else {
                format!("ON {}", self.join_condition())
            };
            text.push_str(&format!(" {join} {table} {on}"));
        }
        let mut conditions: Vec<String> = (0..self.random.below(3)).map(|_| self.condition(0, 2)).collect();
        if outer && self.chance(30) {
            conditions.push(self.subquery());
        } else if outer && self.chance(10) {
            let (number, scalar) = (self.value(Type::Number, 0, 0), self.scalar());
            conditions.push(format!("{number} {} {scalar}", self.one(&["=", "<>", "<", ">="])));
        }
        let condition =
            if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
        let is_plain = !text.contains("(SELECT");
        let text = if self.chance(30) {
            let keys: Vec<String> = kinds[1..].iter().map(|kind| self.key(*kind)).collect();
            let number = self.number(0);
            let counted = self.aggregate(&number);
            let is_repeated = (1..keys.len()).any(|at| keys[..at].contains(&keys[at]));
            let grouped = match keys.len() {
                0 => String::new(),
                _ if !is_repeated && self.chance(10) => {
                    format!(" GROUP BY {} ({})", self.one(&["ROLLUP", "CUBE"]), keys.join(", "))
                }
                _ => format!(" GROUP BY {}", keys.join(", ")),
            };
            let columns = named(std::iter::once(counted).chain(keys));
            let having = match self.random.below(6) {
                0 if !grouped.is_empty() => " HAVING count(*) > 1".to_owned(),
                1 if !grouped.is_empty() => format!(" HAVING max({number}) > 0 OR min({number}) IS NULL"),
                _ => String::new(),
            };
            format!("SELECT {columns} FROM {text}{condition}{grouped}{having}")
        } else {
            let mut columns: Vec<String> = kinds.iter().map(|kind| self.value(*kind, 0, 1)).collect();
            match self.random.below(12) {
                0 => columns[0] = self.window(),
                1 => columns[0] = self.scalar(),
                2 if is_plain => columns[0] = self.neighbour(),
                _ => {}
            }
            let columns = named(columns.into_iter());
            let distinct = if self.chance(15) { "DISTINCT " } else { "" };
            format!("SELECT {distinct}{columns} FROM {text}{condition}")
        };
        self.scope = scope;
        debug_assert_eq!(self.scope.len(), from);
        text
    }

    fn subquery(&mut self) -> String {
        let kind = self.one(&[Type::Number, Type::Text, Type::Date]);
        let value = self.column(kind, 0).unwrap_or_else(|| self.literal(kind));
        let held = std::mem::take(&mut self.scope);
        let (table, _) = self.table();
        let column = self.column(kind, 0).unwrap_or_else(|| "NULL".to_owned());
        let inner = self.condition(0, 1);
        self.scope = held;
        match self.random.below(4) {
            0 => format!("{value} NOT IN (SELECT {column} FROM {table} WHERE {inner})"),
            1 => format!("EXISTS (SELECT 1 FROM {table} WHERE {column} = {value} AND {inner})"),
            2 => format!("NOT EXISTS (SELECT 1 FROM {table} WHERE {column} = {value} AND {inner})"),
            _ => format!("{value} IN (SELECT {column} FROM {table} WHERE {inner})"),
        }
    }

    /// The groups of `query`, read at two places.
    fn read_twice(&mut self, query: &str) -> String {
        let reader = self.one(&[
            "SELECT * FROM w WHERE r0 = (SELECT max(r0) FROM w)",
            "SELECT * FROM w WHERE r0 > (SELECT avg(r0) FROM w)",
            "SELECT v.* FROM w JOIN w AS v ON v.r0 = w.r0",
            "SELECT * FROM w UNION ALL SELECT * FROM w WHERE r0 > 2",
            "SELECT * FROM w WHERE EXISTS (SELECT 1 FROM w AS v WHERE v.r0 = w.r0 + 1)",
            "SELECT w.* FROM w JOIN crm.main.some s ON s.id = w.r0 WHERE w.r0 <= (SELECT max(r0) FROM w)",
        ]);
        format!("WITH w AS ({query}) {reader}")
    }

    /// A whole statement: whole results in any order, or the first rows in a complete one.
    fn statement(&mut self) -> String {
        if self.chance(20) {
            return self.shape();
        }
        let mut kinds = vec![Type::Number];
        kinds.extend((0..self.random.below(3)).map(|_| self.kind()));
        let mut text = self.select(&kinds, true);
        if self.chance(15) {
            let operator = self.one(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
            let other = self.select(&kinds, false);
            text = format!("{text} {operator} {other}");
        } else if text.contains(" GROUP BY ") && self.chance(40) {
            text = self.read_twice(&text);
        }
        if self.chance(40) {
            let order: Vec<String> = (1..=kinds.len())
                .map(|place| {
                    let nulls = self.one(&["", " NULLS FIRST", " NULLS LAST"]);
                    format!("{place} {}{nulls}", self.one(&["ASC", "DESC"]))
                })
                .collect();
            text = format!("SELECT * FROM ({text}) AS x ORDER BY {}", order.join(", "));
            if self.chance(60) {
                text.push_str(&format!(" LIMIT {}", self.one(&[1, 3, 10])));
                text.push_str(self.one(&["", "", " OFFSET 2"]));
            }
        }
        text
    }
}
