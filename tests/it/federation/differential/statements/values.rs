//! Values that are made of others: by functions, of the rows around, of other tables.

use super::{Draw, TABLES, Type};

impl Draw<'_> {
    /// What a function makes of a value.
    pub(super) fn function(&mut self, kind: Type, from: usize) -> String {
        if self.chance(15) {
            let (one, other) = (self.value(kind, from, 0), self.value(kind, from, 0));
            let name = self.one(&["nullif", "greatest", "least"]);
            // These two are not there for all types over several connections.
            if name == "nullif" || matches!(kind, Type::Number | Type::Date | Type::Timestamp) {
                return format!("{name}({one}, {other})");
            }
        }
        let of = match kind {
            Type::Number => self.one(&[Type::Number, Type::Text, Type::Date, Type::Timestamp]),
            Type::Date => self.one(&[Type::Date, Type::Timestamp]),
            Type::Timestamp => self.one(&[Type::Date, Type::Timestamp]),
            other => other,
        };
        let value = self.value(of, from, 0);
        let number = self.one(&["1", "2", "3"]);
        match (kind, of) {
            (Type::Number, Type::Number) => {
                let call = self.one(&[
                    "abs(#)",
                    "round(#)",
                    "round(#, 1)",
                    "round(#, -1)",
                    "floor(#)",
                    "ceil(#)",
                    "trunc(#)",
                    "(# / 2)",
                    "(# % 3)",
                    "CASE # WHEN 1 THEN 2 WHEN 2 THEN # ELSE 0 END",
                    "CAST(# AS numeric(30, 3))",
                    "CAST(# AS bigint)",
                    "mod(#, 4)",
                    "CAST(CAST(# AS text) AS numeric)",
                    "length(CAST(# AS text))",
                    "coalesce(#, 0) / 4.0",
                ]);
                call.replace('#', &value)
            }
            (Type::Number, Type::Text) => {
                let call =
                    self.one(&["length(#)", "strpos(#, 'a')", "ascii(#)", "octet_length(#)", "position('b' IN #)"]);
                call.replace('#', &format!("CAST({value} AS text)"))
            }
            (Type::Number, Type::Date) if self.chance(40) => format!("({value} - DATE '2024-02-28')"),
            (Type::Number, _) => format!(
                "extract({} FROM {value})",
                self.one(&["year", "month", "day", "dow", "doy", "week", "quarter", "epoch"])
            ),
            (Type::Text, _) => {
                let call = self.one(&[
                    "btrim(#)",
                    "reverse(#)",
                    "left(#, 2)",
                    "right(#, 1)",
                    "replace(#, 'a', 'xy')",
                    "split_part(#, 'a', 1)",
                    "lpad(#, 3, '.')",
                    "concat(#, '-', #)",
                    "concat_ws('/', #, 'x')",
                    "translate(#, 'ab', 'x')",
                    "ltrim(#, 'a ')",
                    "rtrim(#)",
                    "repeat(#, 2)",
                    "substring(# FROM 2 FOR 1)",
                    "regexp_replace(#, '[ab]+', '<\\&>', 'g')",
                ]);
                call.replace('#', &format!("CAST({value} AS text)"))
            }
            (Type::Date, Type::Date) => format!("({value} {} {number})", self.one(&["+", "-"])),
            (Type::Date, _) => format!("CAST({value} AS date)"),
            (Type::Timestamp, Type::Date) if self.chance(50) => format!("({value} + INTERVAL '{number} days')"),
            (Type::Timestamp, Type::Date) => format!("CAST({value} AS timestamp)"),
            (Type::Timestamp, _) => match self.random.below(4) {
                1 => format!("date_bin('40 minutes', {value}, TIMESTAMP '2024-01-01')"),
                2 => format!("(({value} AT TIME ZONE 'UTC') AT TIME ZONE 'Europe/Berlin')"),
                0 => format!("date_trunc('{}', {value})", self.one(&["hour", "day", "month"])),
                _ => format!("({value} + INTERVAL '{number} {}')", self.one(&["hours", "days", "months"])),
            },
            (Type::Zoned, _) if self.chance(50) => {
                format!("(({value} AT TIME ZONE 'Europe/Berlin') AT TIME ZONE 'Asia/Kolkata')")
            }
            (Type::Zoned, _) => format!("({value} - INTERVAL '{number} hours')"),
            (Type::Boolean, _) => format!("({})", self.condition(from, 0)),
            _ => value,
        }
    }

    /// An aggregate that is a number, some of its calls with a filter.
    pub(super) fn aggregate(&mut self, number: &str) -> String {
        let call = self.call(number);
        if call.contains("string_agg") || !self.chance(15) {
            return call;
        }
        match call.strip_prefix("CASE WHEN ").and_then(|rest| rest.strip_suffix(" THEN 1 ELSE 0 END")) {
            Some(call) => format!("CASE WHEN {call} FILTER (WHERE {}) THEN 1 ELSE 0 END", self.condition(0, 0)),
            None if call.contains(") ") || call.starts_with("round") => call,
            None => format!("{call} FILTER (WHERE {})", self.condition(0, 0)),
        }
    }

    fn call(&mut self, number: &str) -> String {
        let kind = self.kind();
        match self.random.below(17) {
            0 => "count(*)".to_owned(),
            1 => format!("count(DISTINCT {number})"),
            2 => format!("min({number})"),
            3 => format!("max({number})"),
            4 => format!("sum({number})"),
            5 => format!("avg({number})"),
            6 => format!("count(DISTINCT {})", self.key(kind)),
            7 => format!("sum(CASE WHEN {} THEN 1 ELSE 0 END)", self.condition(0, 0)),
            8 => format!("sum(DISTINCT {number})"),
            9 | 10 => match self.column(Type::Text, 0) {
                Some(text) => {
                    let order = self.one(&[
                        "#, ',' ORDER BY @",
                        "#, ',' ORDER BY @ DESC, #",
                        "DISTINCT #, ',' ORDER BY #",
                        "#, ';' ORDER BY # DESC",
                    ]);
                    let listed = order.replace('#', &format!("CAST({text} AS text)")).replace('@', number);
                    format!("length(string_agg({listed}))")
                }
                None => "count(*)".to_owned(),
            },
            11 => format!("CASE WHEN bool_and({}) THEN 1 ELSE 0 END", self.condition(0, 0)),
            12 => format!("CASE WHEN bool_or({}) THEN 1 ELSE 0 END", self.condition(0, 0)),
            13 => format!("round(avg({number}) * 2, 1)"),
            14 => format!("sum({number}) / nullif(count({number}), 3)"),
            15 => format!("max({number}) - min({number})"),
            _ => format!("count({number})"),
        }
    }

    /// A number of the row before or behind, in an order that is complete where every table has its key.
    pub(super) fn neighbour(&mut self) -> String {
        let number = self.number(0);
        let (kind, name) = (self.kind(), self.one(&["lag", "lead", "first_value", "last_value"]));
        let part = self.key(kind);
        let ids: Vec<String> = self.scope.iter().map(|(alias, _)| format!("{alias}.id")).collect();
        let of = match name {
            "lag" | "lead" => self.one(&["#", "#, 2", "#, 1, 0", "#, 1, NULL"]),
            _ => "#",
        };
        let frame = self.one(&[
            "",
            "",
            " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
            " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
        ]);
        let of = of.replace('#', &number);
        format!("{name}({of}) OVER (PARTITION BY {part} ORDER BY {}{frame})", ids.join(", "))
    }

    /// A number that depends on the rows around, where those that are alike have the same.
    pub(super) fn window(&mut self) -> String {
        let number = self.number(0);
        let of = match self.random.below(6) {
            0 => "rank()".to_owned(),
            1 => "dense_rank()".to_owned(),
            2 => "count(*)".to_owned(),
            3 => format!("max({number})"),
            4 => format!("min({number})"),
            _ => format!("sum({number})"),
        };
        let kinds = [self.kind(), self.kind()];
        let [part, order] = kinds.map(|kind| self.key(kind));
        let direction = self.one(&["", " DESC", " NULLS FIRST"]);
        let over = match self.random.below(3) {
            0 => format!("OVER (ORDER BY {order}{direction})"),
            1 if !of.contains("rank") => format!("OVER (PARTITION BY {part})"),
            _ => format!("OVER (PARTITION BY {part} ORDER BY {order}{direction})"),
        };
        match self.random.below(8) {
            0 => format!("({of} {over} - 1) / 2"),
            1 => format!("{of} {over} - count(*) {over}"),
            2 => format!("CASE WHEN {of} {over} > 1 THEN 1 ELSE 0 END"),
            _ => format!("{of} {over}"),
        }
    }

    /// One value of another table.
    pub(super) fn scalar(&mut self) -> String {
        let outer = self.number(0);
        if self.chance(30) {
            let (table, column) = (self.one(TABLES).0, self.one(&["n", "id", "n * 2"]));
            return format!("(SELECT i.{column} FROM {table} AS i WHERE i.id = {outer})");
        }
        let held = std::mem::take(&mut self.scope);
        let (table, _) = self.table();
        let column = self.number(0);
        let made = self.one(&["max(#)", "min(#)", "count(*)", "sum(#)"]).replace('#', &column);
        let key = self.number(0);
        self.scope = held;
        let condition = if self.chance(50) { format!(" WHERE {key} = {outer}") } else { String::new() };
        format!("(SELECT {made} FROM {table}{condition})")
    }
}
