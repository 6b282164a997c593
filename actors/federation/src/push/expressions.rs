//! Renders expressions in a source's SQL, as far as they have the same meaning there as in the engine: what is not
//! listed here is not pushed down.

use arrow_schema::DataType as ArrowType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::{Between, BinaryExpr, Case, InList, Like, ScalarFunction};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, Operator};

use super::select::{Output, Select};
use crate::functions::numbers::Checked;
use crate::functions::regular;
use crate::functions::times::parts::EXTRACT;
use crate::values;
use portico_sources::pushdown::{Pushdown, Type, Use};

/// Values of a list that are written out at most.
const MOST_LISTED: usize = 1000;

/// Octets of an expression, and brackets inside each other: a connection takes no longer or deeper statement than some times this.
const MOST_OCTETS: usize = 256 << 10;
const MOST_NESTED: usize = 64;

/// Returns the nesting depth of parentheses, including those within literals.
fn nested(sql: &str) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    for octet in sql.bytes() {
        match octet {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

/// An expression in the source's SQL.
#[derive(Clone, Debug)]
pub(super) struct Rendered {
    pub(super) sql: String,
    pub(super) type_: Type,
}

/// A chain of one operator in one pair of brackets: a source reads a long one with a bracket for each link as too deep.
fn chain(whole: &Expr, op: Operator, write: impl Fn(&Expr) -> Option<String>) -> Option<String> {
    let (mut todo, mut links) = (vec![whole], Vec::new());
    while let Some(expr) = todo.pop() {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: own, right }) if *own == op => {
                todo.extend([right, left].map(AsRef::as_ref));
            }
            other => links.push(write(other)?),
        }
    }
    Some(format!("({})", links.join(&format!(" {op} "))))
}

/// An equality in the source's SQL.
struct Equality {
    sql: String,
    /// Whether it holds exactly where it does for the engine, and not also elsewhere.
    exact: bool,
}

/// What the names of an expression refer to.
pub(super) struct NameScope<'a> {
    pub(super) dialect: &'static Pushdown,
    pub(super) outputs: &'a [Output],
    pub(super) schema: &'a DFSchema,
}

impl<'a> NameScope<'a> {
    pub(super) fn new(select: &'a Select, schema: &'a DFSchema) -> Option<Self> {
        Some(Self { dialect: select.dialect?, outputs: &select.outputs, schema })
    }

    /// Returns the column that `expr` is, if it is a plain column.
    pub(super) fn column(&self, expr: &Expr) -> Option<&'a Output> {
        match expr {
            Expr::Column(column) => self.outputs.get(self.schema.index_of_column(column).ok()?),
            Expr::Alias(alias) => self.column(&alias.expr),
            _ => None,
        }
    }

    /// A truth value, as a condition.
    pub(super) fn condition(&self, expr: &Expr) -> Option<String> {
        // The engine writes a short list as alternatives.
        if let Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) = expr {
            return chain(expr, *op, |each| self.condition(each));
        }
        let rendered = self.render(expr)?;
        if rendered.type_ != Type::Boolean {
            return None;
        }
        Some(match self.equality_at_source(expr) {
            Some(Equality { sql, exact: true }) => sql,
            Some(Equality { sql, exact: false }) => format!("{sql} AND {}", rendered.sql),
            None => rendered.sql,
        })
    }

    /// Renders the equality of a text with literals, if its column's own collation decides it or at least finds all
    /// equals.
    fn equality_at_source(&self, expr: &Expr) -> Option<Equality> {
        let raw = |expr: &Expr| self.column(expr)?.comparable(self.dialect);
        let (column, values, is_list) = match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => match (raw(left), raw(right)) {
                (Some(column), None) => (column, std::slice::from_ref(right.as_ref()), false),
                (None, Some(column)) => (column, std::slice::from_ref(left.as_ref()), false),
                _ => return None,
            },
            Expr::InList(InList { expr, list, negated: false }) => (raw(expr)?, list.as_slice(), true),
            _ => return None,
        };
        let mut exact = column.exact;
        let literal = |value: &Expr| {
            let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = value else { return None };
            // The padded value has no trailing blank, and equals one that has.
            exact &= column.type_ != Type::Padded || !text.ends_with(' ');
            (self.dialect.literal)(text, column.type_)
        };
        let values = values.iter().map(literal).collect::<Option<Vec<_>>>()?.join(", ");
        let column = &column.sql;
        let sql = if is_list { format!("{column} IN ({values})") } else { format!("{column} = {values}") };
        Some(Equality { sql, exact })
    }

    /// The expression, where the source means the same by it, and reads it.
    pub(super) fn render(&self, expr: &Expr) -> Option<Rendered> {
        self.written(expr).filter(|rendered| rendered.sql.len() <= MOST_OCTETS && nested(&rendered.sql) <= MOST_NESTED)
    }

    fn written(&self, expr: &Expr) -> Option<Rendered> {
        let boolean = |sql: String| Some(Rendered { sql, type_: Type::Boolean });
        match expr {
            Expr::Alias(alias) => self.render(&alias.expr),
            Expr::Column(_) => {
                let output = self.column(expr)?;
                let type_ = output.type_.filter(|type_| (self.dialect.does)(*type_, Use::Compare))?;
                Some(Rendered { sql: output.sql.clone(), type_ })
            }
            Expr::Literal(value, _) => self.literal(value),
            Expr::BinaryExpr(binary) => self.binary(binary, expr),
            Expr::Not(inner) => boolean(format!("(NOT {})", self.truth(inner)?)),
            Expr::IsNull(inner) => boolean(format!("({} IS NULL)", self.any(inner)?)),
            Expr::IsNotNull(inner) => boolean(format!("({} IS NOT NULL)", self.any(inner)?)),
            Expr::IsTrue(inner) => boolean(format!("({} IS TRUE)", self.truth(inner)?)),
            Expr::IsFalse(inner) => boolean(format!("({} IS FALSE)", self.truth(inner)?)),
            Expr::IsNotTrue(inner) => boolean(format!("({} IS NOT TRUE)", self.truth(inner)?)),
            Expr::IsNotFalse(inner) => boolean(format!("({} IS NOT FALSE)", self.truth(inner)?)),
            Expr::Between(Between { expr, negated, low, high }) => {
                let (value, low, high) = (self.render(expr)?, self.render(low)?, self.render(high)?);
                (value.type_.compares_with(low.type_) && value.type_.compares_with(high.type_)).then_some(())?;
                let not = if *negated { "NOT " } else { "" };
                boolean(format!("({} {not}BETWEEN {} AND {})", value.sql, low.sql, high.sql))
            }
            Expr::InList(InList { expr, list, negated }) => {
                let value = self.render(expr)?;
                (!list.is_empty() && list.len() <= MOST_LISTED).then_some(())?;
                let listed = |each: &Expr| {
                    let each = self.render(each)?;
                    each.type_.compares_with(value.type_).then_some(each.sql)
                };
                let values: Option<Vec<String>> = list.iter().map(listed).collect();
                let not = if *negated { "NOT " } else { "" };
                boolean(format!("({} {not}IN ({}))", value.sql, values?.join(", ")))
            }
            Expr::Like(Like { negated, expr, pattern, escape_char: None | Some('\\'), case_insensitive: false }) => {
                self.dialect.like.then_some(())?;
                let (text, pattern) = (self.render(expr)?, self.render(pattern)?);
                (text.type_ == Type::Text && pattern.type_ == Type::Text).then_some(())?;
                let not = if *negated { "NOT " } else { "" };
                boolean(format!("({} {not}LIKE {})", text.sql, pattern.sql))
            }
            Expr::Case(case) => self.case(case),
            Expr::Cast(Cast { expr: inner, field }) => {
                let (value, to) = (self.render(inner)?, type_of(field.data_type())?);
                value.type_.fits_in(to).then_some(())?;
                self.cast(&value.sql, to)
            }
            Expr::ScalarFunction(call) => self.function(call, expr),
            _ => None,
        }
    }

    /// `sql` as a value of `type_`.
    pub(super) fn cast(&self, sql: &str, type_: Type) -> Option<Rendered> {
        let name = (self.dialect.type_name)(type_)?;
        Some(Rendered { sql: format!("CAST({sql} AS {name})"), type_ })
    }

    /// Renders an expression that is only tested for NULL.
    fn any(&self, expr: &Expr) -> Option<String> {
        match self.column(expr) {
            Some(output) => Some(output.sql.clone()),
            None => self.render(expr).map(|rendered| rendered.sql),
        }
    }

    fn truth(&self, expr: &Expr) -> Option<String> {
        self.render(expr).filter(|rendered| rendered.type_ == Type::Boolean).map(|rendered| rendered.sql)
    }

    fn literal(&self, value: &ScalarValue) -> Option<Rendered> {
        let type_ = type_of(&value.data_type()).filter(|type_| (self.dialect.does)(*type_, Use::Compare))?;
        if value.is_null() {
            return self.cast("NULL", type_);
        }
        let sql = (self.dialect.literal)(&values::text_of(value)?, type_)?;
        Some(Rendered { sql, type_ })
    }

    fn binary(&self, BinaryExpr { left, op, right }: &BinaryExpr, whole: &Expr) -> Option<Rendered> {
        let boolean = |sql: String| Some(Rendered { sql, type_: Type::Boolean });
        let operator = match op {
            Operator::And | Operator::Or => return boolean(chain(whole, *op, |each| self.truth(each))?),
            Operator::Eq => "=",
            Operator::NotEq => "<>",
            Operator::Lt => "<",
            Operator::LtEq => "<=",
            Operator::Gt => ">",
            Operator::GtEq => ">=",
            Operator::IsNotDistinctFrom => self.dialect.null_safe_equality,
            _ => return None,
        };
        let (left, right) = (self.render(left)?, self.render(right)?);
        left.type_.compares_with(right.type_).then_some(())?;
        boolean(format!("({} {operator} {})", left.sql, right.sql))
    }

    fn case(&self, Case { expr, when_then_expr, else_expr }: &Case) -> Option<Rendered> {
        let subject = match expr {
            Some(subject) => Some(self.render(subject)?),
            None => None,
        };
        let mut sql = "CASE".to_owned();
        if let Some(subject) = &subject {
            sql.push_str(&format!(" {}", subject.sql));
        }
        let mut type_ = None;
        let mut branch = |value: &Expr| {
            let value = self.render(value)?;
            (*type_.get_or_insert(value.type_) == value.type_).then_some(value.sql)
        };
        for (when, then) in when_then_expr {
            let when = self.render(when)?;
            let type_ = subject.as_ref().map_or(Type::Boolean, |subject| subject.type_);
            when.type_.compares_with(type_).then_some(())?;
            sql.push_str(&format!(" WHEN {} THEN {}", when.sql, branch(then)?));
        }
        if let Some(value) = else_expr {
            sql.push_str(&format!(" ELSE {}", branch(value)?));
        }
        Some(Rendered { sql: format!("{sql} END"), type_: type_? })
    }

    fn function(&self, ScalarFunction { func, args }: &ScalarFunction, whole: &Expr) -> Option<Rendered> {
        match (func.name(), args.as_slice()) {
            (name, [left, right]) if Checked::named(name).is_some() => {
                let sign = Checked::named(name)?.sign();
                let (left, right) = (self.render(left)?, self.render(right)?);
                if let (Type::Decimal { .. }, Type::Decimal { .. }) = (left.type_, right.type_) {
                    let type_ = type_of(&whole.get_type(self.schema).ok()?)?;
                    (self.dialect.does)(type_, Use::Compute).then_some(())?;
                    return Some(Rendered { sql: format!("({} {sign} {})", left.sql, right.sql), type_ });
                }
                (left.type_.is_whole() && left.type_ == right.type_ && (self.dialect.does)(left.type_, Use::Compute))
                    .then_some(())?;
                // In their own types, the source fails on overflow.
                let (one, other) = (self.cast(&left.sql, left.type_)?, self.cast(&right.sql, right.type_)?);
                Some(Rendered { sql: format!("({} {sign} {})", one.sql, other.sql), type_: left.type_ })
            }
            (EXTRACT, [Expr::Literal(part, _), date]) => {
                let part = values::text_of(part)?.to_lowercase();
                matches!(part.as_str(), "year" | "month" | "day").then_some(())?;
                let date = self.render(date).filter(|date| date.type_ == Type::Date)?;
                let sql = (self.dialect.date_part)(&part, &date.sql)?;
                self.cast(&sql, type_of(&whole.get_type(self.schema).ok()?)?)
            }
            (regular::MATCHES, [text, pattern @ Expr::Literal(value, _)]) => {
                let is_same = value.try_as_str().flatten().is_some_and(regular::is_plain);
                let operator = self.dialect.regular_expression.filter(|_| is_same)?;
                let (text, pattern) = (self.render(text)?, self.render(pattern)?);
                (text.type_ == Type::Text && pattern.type_ == Type::Text).then_some(())?;
                Some(Rendered { sql: format!("({} {operator} {})", text.sql, pattern.sql), type_: Type::Boolean })
            }
            ("substr", [text, rest @ ..]) => {
                let text = self.render(text).filter(|text| text.type_ == Type::Text)?;
                let count = |expr: &Expr| match expr {
                    // From a place before the first one on they differ.
                    Expr::Literal(ScalarValue::Int64(Some(count)), _) if *count > 0 => Some(count.to_string()),
                    _ => None,
                };
                let sql = match rest {
                    [from] => (self.dialect.substring)(&text.sql, &count(from)?, None),
                    [from, length] => (self.dialect.substring)(&text.sql, &count(from)?, Some(&count(length)?)),
                    _ => None,
                }?;
                Some(Rendered { sql: format!("({sql})"), type_: Type::Text })
            }
            _ => None,
        }
    }
}

/// Returns the common type of both sides for a type of the engine.
pub(crate) fn type_of(type_: &ArrowType) -> Option<Type> {
    use arrow_schema::TimeUnit;
    Some(match type_ {
        ArrowType::Boolean => Type::Boolean,
        ArrowType::Int16 => Type::SmallInt,
        ArrowType::Int32 => Type::Integer,
        ArrowType::Int64 => Type::BigInt,
        ArrowType::Decimal128(precision, scale) if *scale >= 0 => {
            Type::Decimal { precision: *precision, scale: *scale }
        }
        ArrowType::Utf8 | ArrowType::Utf8View | ArrowType::LargeUtf8 => Type::Text,
        ArrowType::Date32 => Type::Date,
        ArrowType::Timestamp(TimeUnit::Microsecond, None) => Type::Timestamp,
        ArrowType::Timestamp(TimeUnit::Microsecond, Some(zone)) if zone.as_ref() == "UTC" => Type::TimestampZoned,
        _ => return None,
    })
}
