//! Statements of other shapes than a query: recursive ones, rows that are numbered and then chosen, first rows of groups.

use super::{Columns, Draw, TABLES, Type, named};

impl Draw<'_> {
    /// A whole statement in one of these shapes.
    pub(super) fn shape(&mut self) -> String {
        match self.random.below(9) {
            0 => self.recursive(),
            1 => self.numbered(),
            2 => self.first_of_each(),
            3 => self.merged(),
            4 => self.lateral(),
            5 => self.correlated(),
            6 => self.greatest_of_each(),
            7 => self.by_key(),
            _ => self.in_steps(),
        }
    }

    /// Rows that lead to others, by a key.
    fn recursive(&mut self) -> String {
        let (first, _) = self.table();
        let (start, condition) = (self.number(0), self.condition(0, 0));
        self.scope.clear();
        let (next, _) = self.table();
        let to = self.number(0);
        let (alias, _) = self.scope.pop().expect("the table that was drawn");
        let all = self.one(&["UNION", "UNION ALL"]);
        let (key, step) = (self.one(&["r.r1", "r.r1 + 1", "r.r1 + r.r0"]), self.one(&["1", "2"]));
        let reader = self.one(&[
            "SELECT r0, r1 FROM r",
            "SELECT r0, count(*) AS r1 FROM r GROUP BY r0",
            "SELECT max(r0) AS r0, max(r1) AS r1 FROM r",
        ]);
        // Ids are there once but for derived tables; four steps bound these.
        format!(
            "WITH RECURSIVE r(r0, r1) AS (SELECT {step} AS r0, CAST({start} AS numeric) AS r1 FROM {first} WHERE {condition} {all} \
             SELECT r.r0 + 1, CAST({to} AS numeric) FROM r JOIN {next} ON {alias}.id = {key} WHERE r.r0 < 4) {reader}"
        )
    }

    /// Rows that are chosen by what a window function says of them.
    fn numbered(&mut self) -> String {
        let kinds = [self.kind(), self.kind()];
        let from = self.joined();
        let (one, other) = (self.window(), self.window());
        let columns: Vec<String> = kinds.iter().map(|kind| self.value(*kind, 0, 1)).collect();
        // A quotient of long numbers has fewer digits there.
        let is_quotient = one.contains(" / ");
        let inner = named([one, other].into_iter().chain(columns));
        let condition = self.one(&[
            "x.r0 <= 2",
            "x.r0 = 1 OR x.r1 IS NULL",
            "x.r0 - x.r1 < 1",
            "x.r0 % 2 = 0",
            "(x.r0 - 1) / 10 = 0",
            "x.r0 BETWEEN 2 AND 5",
            "x.r0 = (SELECT max(i.id) FROM crm.main.some i)",
        ]);
        let condition = if is_quotient { condition.replace("x.r0 % 2 = 0", "x.r0 > 2") } else { condition.to_owned() };
        let picked = self.one(&[
            "x.r0, x.r1, x.r2, x.r3",
            "x.r0 + x.r1 AS r0, x.r3 AS r1",
            "x.r0 / 2 AS r0, x.r2 AS r1",
            "sum(x.r0) AS r0, count(x.r2) AS r1",
        ]);
        format!("SELECT {picked} FROM (SELECT {inner} FROM {from}) AS x WHERE {condition}")
    }

    /// The first row of each group, in a complete order.
    fn first_of_each(&mut self) -> String {
        let kinds = [Type::Number, self.kind(), self.kind()];
        let query = self.select(&kinds, false);
        let direction = self.one(&["", " DESC", " NULLS FIRST"]);
        format!("SELECT DISTINCT ON (x.r1) x.r0, x.r1, x.r2 FROM ({query}) AS x ORDER BY x.r1, x.r0{direction}, x.r2")
    }

    /// Columns that two tables merge, in the query or in a subquery.
    fn merged(&mut self) -> String {
        let (one, columns) = self.table();
        let (other, others) = self.table();
        let shared: Vec<&str> = names(columns).filter(|name| names(others).any(|other| other == *name)).collect();
        let using: Vec<&str> = (0..=self.random.below(2)).map(|_| self.one(&shared)).collect();
        let (first, second) = (using[0], using[using.len() - 1]);
        let using = if first == second { first.to_owned() } else { format!("{first}, {second}") };
        let join = self.one(&["JOIN", "JOIN", "LEFT JOIN"]);
        let condition = self.condition(0, 1);
        self.scope.clear();
        let from = format!("{one} {join} {other} USING ({using})");
        match self.random.below(4) {
            0 => format!("SELECT {first} AS r0, count(*) AS r1 FROM {from} WHERE {condition} GROUP BY {first}"),
            1 => format!(
                "SELECT i.id AS r0, (SELECT count({first}) FROM {from} WHERE {condition}) AS r1 FROM crm.main.some i"
            ),
            2 if matches!(first, "id" | "n" | "t") => format!(
                "SELECT i.n AS r0, i.t AS r1 FROM shop.public.few i WHERE EXISTS (SELECT 1 FROM {from} WHERE {condition} AND {first} = i.{first})"
            ),
            _ => format!("SELECT {first} AS r0, {second} AS r1 FROM {from} WHERE {condition} AND {first} IS NOT NULL"),
        }
    }

    /// Rows of one table beside an aggregate over those of another one that are theirs.
    fn lateral(&mut self) -> String {
        let (outer, _) = self.table();
        let key = self.number(0);
        let kind = self.kind();
        let shown = self.value(kind, 0, 0);
        self.scope.clear();
        let (inner, _) = self.table();
        let (column, by) = (self.number(0), self.number(0));
        let condition = self.condition(0, 0);
        let made = self.aggregate(&column);
        let join =
            self.one(&["CROSS JOIN LATERAL (#) AS l", "LEFT JOIN LATERAL (#) AS l ON true", ", LATERAL (#) AS l"]);
        let lateral = join.replace('#', &format!("SELECT {made} AS m FROM {inner} WHERE {by} = {key} AND {condition}"));
        let separated = if lateral.starts_with(',') { lateral } else { format!(" {lateral}") };
        format!("SELECT l.m AS r0, {shown} AS r1 FROM {outer}{separated}")
    }

    /// Groups by the key of a table, with other columns of it.
    fn by_key(&mut self) -> String {
        let (table, columns) = self.one(TABLES);
        let (one, other) = (self.one(columns).0, self.one(columns).0);
        let made = self.one(&["count(j.id)", "max(j.n)", "sum(k.n)", "count(*)"]);
        let having = self.one(&["", "", " HAVING count(j.id) > 0", " HAVING k.n IS NOT NULL"]);
        let join = self.one(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
        format!(
            "SELECT {made} AS r0, k.{one} AS r1, k.{other} AS r2 FROM {table} AS k {join} crm.main.some j ON j.n = k.n GROUP BY k.id{having}"
        )
    }

    /// A query over common table expressions that read each other.
    fn in_steps(&mut self) -> String {
        let kinds = [Type::Number, self.kind()];
        let (one, other) = (self.select(&kinds, true), self.select(&kinds, false));
        let reader = self.one(&[
            "SELECT w.r0, w.r1 FROM w WHERE w.r0 IN (SELECT r0 FROM v)",
            "SELECT w.r0, w.r1 FROM w WHERE w.r0 > ALL (SELECT r0 FROM v WHERE r0 IS NOT NULL AND r0 < 0)",
            "SELECT w.r0, w.r1 FROM w WHERE w.r0 = ANY (SELECT r0 FROM v)",
            "SELECT w.r0, count(v.r0) AS r1 FROM w LEFT JOIN v ON v.r0 = w.r0 GROUP BY w.r0",
            "SELECT w.r0, w.r1 FROM w WHERE NOT EXISTS (SELECT 1 FROM v WHERE v.r1 = w.r1)",
            "SELECT r0, r1 FROM w UNION SELECT r0, r1 FROM v",
            "SELECT r0, r1 FROM v EXCEPT SELECT r0, r1 FROM w",
            "SELECT (SELECT count(*) FROM v) AS r0, w.r1 FROM w WHERE w.r0 < (SELECT max(r0) FROM v)",
            "SELECT DISTINCT v.r1, w.r0 + v.r0 AS r0 FROM w JOIN v ON v.r1 = w.r1",
            "SELECT sum(w.r0) AS r0, max(v.r0) AS r1 FROM w FULL JOIN v ON v.r0 = w.r0",
        ]);
        format!("WITH w AS ({one}), v AS ({other}) {reader}")
    }

    /// Two tables that are joined by a number.
    pub(super) fn joined(&mut self) -> String {
        let (one, _) = self.table();
        let (other, _) = self.table();
        let condition = self.join_condition();
        format!("{one} {} {other} ON {condition}", self.one(&["JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"]))
    }
}

fn names(columns: Columns) -> impl Iterator<Item = &'static str> {
    columns.iter().map(|(name, _)| *name)
}
