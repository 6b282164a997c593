//! Values that are made of others: by functions, of the rows around, of other tables.

use super::{Draw, Type};

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
                    "floor(#)",
                    "ceil(#)",
                    "trunc(#)",
                    "(# / 2)",
                    "(# % 3)",
                    "CASE # WHEN 1 THEN 2 WHEN 2 THEN # ELSE 0 END",
                    "CAST(# AS numeric(30, 3))",
                    "CAST(# AS bigint)",
                ]);
                call.replace('#', &value)
            }
            (Type::Number, Type::Text) => {
                let call = self.one(&["length(#)", "strpos(#, 'a')", "ascii(#)", "octet_length(#)"]);
                call.replace('#', &format!("CAST({value} AS text)"))
            }
            (Type::Number, Type::Date) if self.chance(40) => format!("({value} - DATE '2024-02-28')"),
            (Type::Number, _) => format!("extract({} FROM {value})", self.one(&["year", "month", "day", "dow", "doy"])),
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
                ]);
                call.replace('#', &format!("CAST({value} AS text)"))
            }
            (Type::Date, Type::Date) => format!("({value} {} {number})", self.one(&["+", "-"])),
            (Type::Date, _) => format!("CAST({value} AS date)"),
            (Type::Timestamp, Type::Date) => format!("CAST({value} AS timestamp)"),
            (Type::Timestamp, _) => match self.random.below(2) {
                0 => format!("date_trunc('{}', {value})", self.one(&["hour", "day", "month"])),
                _ => format!("({value} + INTERVAL '{number} {}')", self.one(&["hours", "days", "months"])),
            },
            (Type::Zoned, _) => format!("({value} - INTERVAL '{number} hours')"),
            (Type::Boolean, _) => format!("({})", self.condition(from, 0)),
            _ => value,
        }
    }

    /// A number that depends on the rows around, where those that are alike have the same.
    pub(super) fn window(&mut self) -> String {
        let number = self.column(Type::Number, 0).expect("every table has a number");
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
        match self.random.below(3) {
            0 => format!("{of} OVER (ORDER BY {order}{direction})"),
            1 if !of.contains("rank") => format!("{of} OVER (PARTITION BY {part})"),
            _ => format!("{of} OVER (PARTITION BY {part} ORDER BY {order}{direction})"),
        }
    }

    /// One value of another table.
    pub(super) fn scalar(&mut self) -> String {
        let outer = self.column(Type::Number, 0).expect("every table has a number");
        let held = std::mem::take(&mut self.scope);
        let (table, _) = self.table();
        let column = self.column(Type::Number, 0).expect("every table has a number");
        let made = self.one(&["max(#)", "min(#)", "count(*)", "sum(#)"]).replace('#', &column);
        let key = self.column(Type::Number, 0).expect("every table has a number");
        self.scope = held;
        let condition = if self.chance(50) { format!(" WHERE {key} = {outer}") } else { String::new() };
        format!("(SELECT {made} FROM {table}{condition})")
    }
}
