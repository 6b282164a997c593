//! Subqueries that speak of the query around them, and what groups make of texts.

use super::{Draw, Type};

impl Draw<'_> {
    /// Two columns of this kind: one of what stands in scope from `from` on, and one of what stands around it.
    fn pair(&mut self, kind: Type, from: usize) -> Option<(String, String)> {
        let inner = self.column(kind, from);
        let held = self.scope.split_off(from);
        let outer = self.column(kind, 0);
        self.scope.extend(held);
        inner.zip(outer)
    }

    /// What chooses rows of what stands in scope from `from` on by the row of the query around it.
    fn match_of(&mut self, from: usize) -> String {
        let kind = self.one(&[Type::Number, Type::Number, Type::Text, Type::Date]);
        let (inner, outer) = match self.pair(kind, from) {
            Some(pair) => pair,
            None => self.pair(Type::Number, from).expect("every table has a number"),
        };
        match self.random.below(8) {
            0 => format!("{outer} = {inner}"),
            1 if kind == Type::Number => format!("{inner} = {outer} + 1"),
            2 if kind == Type::Number => format!("{inner} * 2 = {outer}"),
            _ => format!("{inner} = {outer}"),
        }
    }

    /// A subquery of one value for each row of what stands in scope.
    fn one_of_another(&mut self) -> String {
        let from = self.scope.len();
        let (mut table, _) = self.table();
        if self.chance(25) {
            let (other, _) = self.table();
            let join = self.one(&["JOIN", "JOIN", "JOIN", "LEFT JOIN"]);
            table = format!("{table} {join} {other} ON {}", self.join_among(from));
        }
        let matching = self.match_of(from);
        let condition = if self.chance(40) { format!(" AND {}", self.condition(from, 1)) } else { String::new() };
        let (number, by) = (self.number(from), self.number(from));
        let made = self.one(&["max(#)", "min(#)", "sum(#)", "count(*)", "count(#)", "avg(#)", "max(#) - min(#)"]);
        let made = made.replace('#', &number);
        let query = match self.random.below(6) {
            0 => format!(
                "(SELECT count(*) FROM (SELECT {by} FROM {table} WHERE {matching}{condition} GROUP BY {by}) AS g)"
            ),
            1 => {
                format!(
                    "(SELECT max(g.m) FROM (SELECT {made} AS m FROM {table} WHERE {matching}{condition} GROUP BY {by}) AS g)"
                )
            }
            2 => format!("coalesce((SELECT {made} FROM {table} WHERE {matching}{condition}), 0)"),
            _ => format!("(SELECT {made} FROM {table} WHERE {matching}{condition})"),
        };
        self.scope.truncate(from);
        query
    }

    /// A condition that joins the last table with one that stands in scope from `from` on.
    fn join_among(&mut self, from: usize) -> String {
        let last = self.number(self.scope.len() - 1);
        let held = self.scope.pop().unwrap();
        let first = self.number(from);
        self.scope.push(held);
        format!("{first} = {last}")
    }

    /// Whether there are such rows, at one level or two.
    fn whether_there_are(&mut self, depth: usize) -> String {
        let from = self.scope.len();
        let (mut table, _) = self.table();
        if self.chance(25) {
            let (other, _) = self.table();
            table = format!("{table} JOIN {other} ON {}", self.join_among(from));
        }
        let mut conditions = vec![self.match_of(from)];
        if self.chance(30) {
            conditions.push(self.condition(from, 1));
        }
        if self.chance(20) {
            let kind = self.one(&[Type::Number, Type::Date, Type::Text]);
            if let Some((inner, outer)) = self.pair(kind, from) {
                conditions.push(format!("{inner} {} {outer}", self.one(&["<", ">", "<>", ">="])));
            }
        }
        if depth > 0 && self.chance(40) {
            // What stands further in speaks of the query next to it, as PostgreSQL's users write it.
            let outer: Vec<_> = self.scope.drain(..from).collect();
            conditions.push(self.whether_there_are(depth - 1));
            self.scope.splice(..0, outer);
        }
        let conditions = conditions.join(" AND ");
        let kind = self.one(&[Type::Number, Type::Text, Type::Date]);
        let not = self.one(&["", "", "NOT "]);
        let query = match (self.random.below(4), self.pair(kind, from)) {
            (0, Some((listed, value))) => format!("{value} {not}IN (SELECT {listed} FROM {table} WHERE {conditions})"),
            (1, _) => format!("{not}EXISTS (SELECT * FROM (SELECT 1 AS one FROM {table} WHERE {conditions}) AS g)"),
            _ => format!("{not}EXISTS (SELECT 1 FROM {table} WHERE {conditions})"),
        };
        self.scope.truncate(from);
        query
    }

    /// A query with a subquery that speaks of it.
    pub(super) fn correlated(&mut self) -> String {
        let from = if self.chance(30) { self.joined() } else { self.table().0 };
        let kind = self.kind();
        let (number, shown) = (self.number(0), self.key(kind));
        let condition = if self.chance(40) { format!(" AND {}", self.condition(0, 1)) } else { String::new() };
        match self.random.below(9) {
            0 => format!("SELECT {} AS r0, {shown} AS r1 FROM {from}", self.one_of_another()),
            1 => {
                let (one, other) = (self.one_of_another(), self.one_of_another());
                format!("SELECT {one} + {other} AS r0, {shown} AS r1 FROM {from} WHERE {number} > 0{condition}")
            }
            2 | 3 => {
                let (operator, one) = (self.one(&["=", "<", ">", "<>", ">="]), self.one_of_another());
                format!("SELECT {number} AS r0, {shown} AS r1 FROM {from} WHERE {number} {operator} {one}{condition}")
            }
            4 => {
                let (one, other) = (self.whether_there_are(1), self.whether_there_are(0));
                let between = self.one(&["OR", "AND"]);
                format!("SELECT {number} AS r0, {shown} AS r1 FROM {from} WHERE ({one} {between} {other}){condition}")
            }
            5 => {
                let there_are = self.whether_there_are(0);
                format!("SELECT CASE WHEN {there_are} THEN 1 ELSE 0 END AS r0, {shown} AS r1 FROM {from}")
            }
            6 => {
                let (counted, one) = (self.aggregate(&number), self.whether_there_are(1));
                format!("SELECT {counted} AS r0, {shown} AS r1 FROM {from} WHERE {one}{condition} GROUP BY {shown}")
            }
            _ => {
                let one = self.whether_there_are(1);
                format!("SELECT {number} AS r0, {shown} AS r1 FROM {from} WHERE {one}{condition}")
            }
        }
    }

    /// What groups make of texts, compared with others.
    pub(super) fn greatest_of_each(&mut self) -> String {
        let (table, _) = self.table();
        let text = self.column(Type::Text, 0).expect("every table has a text");
        let made = self.one(&[
            "max(#)",
            "min(#)",
            "max(coalesce(#, 'p'))",
            "coalesce(max(#), '')",
            "nullif(min(#), 'a')",
            "min(CASE WHEN # = 'p' THEN # END)",
        ]);
        let (kind, made) = (self.kind(), made.replace('#', &text));
        let (key, condition) = (self.key(kind), self.condition(0, 1));
        self.scope.clear();
        let groups = format!("(SELECT {made} AS m, {key} AS k FROM {table} WHERE {condition} GROUP BY {key}) AS g");
        let (other, _) = self.table();
        let theirs = self.column(Type::Text, 0).expect("every table has a text");
        let number = self.number(0);
        let literal = self.literal(Type::Text);
        let compared = self.one(&[
            "g.m = @",
            "@ = g.m",
            "g.m <> @",
            "g.m < @",
            "g.m IN (@, 'a')",
            "(g.m, g.m) = (@, @)",
            "g.m BETWEEN 'a' AND @",
            "g.m IS DISTINCT FROM @",
        ]);
        match self.random.below(4) {
            0 => format!(
                "SELECT {number} AS r0, g.m AS r1 FROM {other} JOIN {groups} ON {}",
                compared.replace('@', &theirs)
            ),
            1 => format!(
                "SELECT {number} AS r0, {theirs} AS r1 FROM {other} WHERE {theirs} IN (SELECT g.m FROM {groups})"
            ),
            2 => format!(
                "SELECT {number} AS r0, g.m AS r1 FROM {other} LEFT JOIN {groups} ON {} AND {}",
                compared.replace('@', &theirs),
                compared.replace('@', &literal)
            ),
            _ => format!(
                "SELECT count(*) AS r0, g.m AS r1 FROM {other}, {groups} WHERE {} GROUP BY g.m",
                compared.replace('@', &literal)
            ),
        }
    }
}
