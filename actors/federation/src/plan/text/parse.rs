//! Parses the text with both parsers: ours determines the kind of statement, the engine's makes the plan. What
//! either refuses is refused.

use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, Result as EngineResult};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::{DFParserBuilder, ExplainStatement, Statement as Parsed};
use datafusion::sql::sqlparser::ast::{self, VisitMut};

use crate::dialect::Bounded;
use crate::engine_words::rejected;
use crate::failure::engine_error;
use crate::plan::columns::labels;
use crate::plan::text::cast_aliases;
use crate::plan::text::identifiers;
use crate::plan::text::names::{self, Scope};
use crate::plan::text::recursive::{self, Casts};
use crate::plan::text::refused;
use crate::plan::text::spelling;
use crate::plan::text::syntax::{cast_to, joins_by_query, relations, selects};
use portico_core::error::{Error, Kind, Result};
use portico_core::near;
use portico_sql::{Class, Dialect, ParameterNames, tokens};

/// A query, read.
pub(crate) struct Query {
    pub(crate) parsed: Parsed,
    /// The names of its placeholders, in order.
    pub(crate) placeholders: Vec<String>,
    /// Whether it is to be explained.
    pub(crate) explain: Option<Explain>,
    /// Facts of the text that are not in its plan.
    pub(crate) written: Written,
}

/// Facts of the text that are not in its plan.
#[derive(Default)]
pub(crate) struct Written {
    /// The names that stand alone in each SELECT.
    scopes: Vec<Scope>,
    casts: Casts,
    /// Whether a query stands in an ON.
    joins_by_query: bool,
}

impl Written {
    /// Maps an error of the planner; a query in ON does not see the table that is joined there.
    pub(crate) fn failure(&self, error: DataFusionError) -> Error {
        let error = engine_error(error);
        if self.joins_by_query && error.get_sqlstate() == Some("42703") {
            return error.hint(
                "a query in ON cannot speak of the table that is joined there over several connections: move the \
                 condition into WHERE, or join the query's table",
            );
        }
        error
    }

    /// Checks that the plan has the meaning of the text; refuses plans that the engine has made of another
    /// statement.
    ///
    /// # Errors
    /// `42702` for an ambiguous name, `42804` for a recursive query of several types.
    pub(crate) fn checked(&self, plan: LogicalPlan) -> EngineResult<LogicalPlan> {
        names::check(&plan, &self.scopes)?;
        recursive::check(&plan, &self.casts)?;
        names::unmerged(plan, &self.scopes)
    }
}

/// What is returned in place of a query's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explain {
    /// The plan, with the statements sent to the sources.
    Plan,
    /// The plan after it has run, with rows, octets and time.
    Analyze,
}

/// Parses `text`, which must be a single query; `given` are the names of values.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if it is not a single statement that reads,
/// [`Kind::Rejected`](portico_core::error::Kind::Rejected) for what cannot be parsed.
pub(crate) fn query(text: &str, given: &[&str]) -> Result<Query> {
    let given: ParameterNames = given.iter().map(|name| (*name).to_owned()).collect();
    let mut statements = portico_sql::statements_over_connections(text, Dialect::POSTGRESQL, &given)?;
    let count = statements.len();
    let one = statements.pop().filter(|_| count == 1).ok_or_else(|| {
        Error::invalid(format!(
            "query: a statement over several connections must be sent alone, and this text holds {count}"
        ))
        .hint("send each statement in a request of its own")
    })?;
    if one.class != Class::Select {
        return Err(with_instead(only_reads(&one.verb), text));
    }
    let table = (one.verb == "TABLE").then(|| table_as_select(&one.text)).flatten();
    let mut parsed = DFParserBuilder::new(table.as_deref().unwrap_or(&one.text))
        .with_dialect(&Bounded)
        // Brackets are counted before.
        .with_recursion_limit(1_000)
        .build()
        .and_then(|mut parser| parser.parse_statements())
        .map_err(|error| with_instead(engine_error(error), text))?;
    let first = parsed.pop_front().filter(|_| parsed.is_empty());
    let parsed = first.ok_or_else(|| Error::internal("bug: two parsers count a text's statements differently"))?;
    let (mut parsed, explain) = match parsed {
        Parsed::Explain(ExplainStatement { statement, options }) => {
            (*statement, Some(if options.analyze { Explain::Analyze } else { Explain::Plan }))
        }
        parsed => (parsed, None),
    };
    let mut written = Written::default();
    if let Parsed::Statement(inner) = &mut parsed {
        if table.is_some() && !matches!(&**inner, ast::Statement::Query(query) if is_one_table(&query.body)) {
            return Err(rejected("42601", "query: TABLE takes the name of one table".to_owned())
                .hint("write SELECT * FROM, which takes all other clauses"));
        }
        identifiers::check(inner)?;
        spelling::value_by_value(inner);
        refused::check(inner)?;
        let joins_by_query = joins_by_query(inner);
        written = Written { scopes: names::in_full(inner), casts: recursive::casts(inner), joins_by_query };
        labels::name(inner);
        spelling::translate(inner)?;
        leave_out_collations(inner)?;
        cut_to_length(inner);
        recursive::count_in_integers(inner);
        cast_aliases::name_casts(inner);
    }
    match &parsed {
        Parsed::Statement(inner) if matches!(**inner, ast::Statement::Query(_)) => {
            Ok(Query { parsed, placeholders: one.placeholders, explain, written })
        }
        _ => Err(only_reads(&one.verb)),
    }
}

/// Qualifies `table.*` if the table has no alias: the engine does not recognise a name without its connection.
pub(crate) fn qualify_wildcards(parsed: &mut Parsed) {
    if let Parsed::Statement(statement) = parsed {
        let _ = statement.visit(&mut Wildcards);
    }
}

struct Wildcards;

impl ast::VisitorMut for Wildcards {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        selects(&mut query.body).into_iter().for_each(qualify);
        ControlFlow::Continue(())
    }
}

fn qualify(select: &mut ast::Select) {
    let names: Vec<ast::ObjectName> = relations(select)
        .filter_map(|relation| match relation {
            ast::TableFactor::Table { name, alias: None, .. } => Some(name.clone()),
            _ => None,
        })
        .collect();
    for item in &mut select.projection {
        let ast::SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(of), _) = item else {
            continue;
        };
        let mut meant = names.iter().filter(|name| of.0.len() == 1 && name.0.last() == of.0.first());
        if let (Some(name), None) = (meant.next(), meant.next()) {
            of.clone_from(name);
        }
    }
}

/// The engine orders by octets, as these two collations do; it knows no other.
fn leave_out_collations(statement: &mut ast::Statement) -> Result<()> {
    let found = ast::visit_expressions_mut(statement, |expr| {
        while let ast::Expr::Collate { expr: inner, collation } = expr {
            let name = collation.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.clone());
            if !matches!(name.as_deref(), Some("C" | "c" | "POSIX" | "posix")) {
                return ControlFlow::Break(collation.to_string());
            }
            *expr = std::mem::replace(inner, ast::Expr::Value(ast::Value::Null.into()));
        }
        ControlFlow::Continue(())
    });
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(name) => Err(Error::invalid(format!(
            "query: COLLATE {name} is not supported over several connections, where text is ordered by its bytes"
        ))
        .hint("leave it out, or write COLLATE \"C\"")),
    }
}

/// Casts to texts of a length truncate; the engine ignores such lengths.
fn cut_to_length(statement: &mut ast::Statement) {
    let _ = ast::visit_expressions_mut(statement, |expr| {
        if let ast::Expr::TypedString(ast::TypedString { data_type, value, .. }) = expr
            && length(data_type).is_some()
        {
            let text = Box::new(ast::Expr::Value(value.clone()));
            // In front of a text, CHAR without a length stands for any (PostgreSQL, §4.1.2.7: its `bpchar`).
            *expr = if matches!(data_type, ast::DataType::Char(None) | ast::DataType::Character(None)) {
                without_trailing_blanks(text)
            } else {
                cast_to(*text, data_type.clone())
            };
        }
        if let ast::Expr::Cast { data_type, .. } = expr
            && let Some((length, is_padded)) = length(data_type)
        {
            *data_type = ast::DataType::Text;
            let number = |number: u64| Box::new(ast::Expr::Value(ast::Value::Number(number.to_string(), false).into()));
            let text = Box::new(std::mem::replace(expr, ast::Expr::Value(ast::Value::Null.into())));
            let (substring_from, substring_for) = (Some(number(1)), Some(number(length)));
            let cut =
                ast::Expr::Substring { expr: text, substring_from, substring_for, special: true, shorthand: false };
            *expr = if is_padded { without_trailing_blanks(Box::new(cut)) } else { cut };
        }
        ControlFlow::<()>::Continue(())
    });
}

/// A text of a type that is filled up with blanks, where they are insignificant.
fn without_trailing_blanks(expr: Box<ast::Expr>) -> ast::Expr {
    let trim_where = Some(ast::TrimWhereField::Trailing);
    ast::Expr::Trim { trim_where, trim_what: None, expr, trim_characters: None }
}

/// How many characters a text of this type has at most, and whether it is filled up with blanks to so many.
fn length(type_: &ast::DataType) -> Option<(u64, bool)> {
    use ast::DataType::{Char, CharVarying, Character, CharacterVarying, Nvarchar, Varchar};
    match type_ {
        Char(None) | Character(None) => Some((1, true)),
        Char(Some(ast::CharacterLength::IntegerLength { length, .. }))
        | Character(Some(ast::CharacterLength::IntegerLength { length, .. })) => Some((*length, true)),
        Varchar(Some(ast::CharacterLength::IntegerLength { length, .. }))
        | Nvarchar(Some(ast::CharacterLength::IntegerLength { length, .. }))
        | CharVarying(Some(ast::CharacterLength::IntegerLength { length, .. }))
        | CharacterVarying(Some(ast::CharacterLength::IntegerLength { length, .. })) => Some((*length, false)),
        _ => None,
    }
}

/// Returns `TABLE name` as `SELECT * FROM name`: the engine's parser knows the former within a query alone.
fn table_as_select(text: &str) -> Option<String> {
    let verb = tokens(text, Dialect::POSTGRESQL).into_iter().find(|token| token.is_word(text, "TABLE"))?;
    let mut query = text.to_owned();
    query.replace_range(verb.range(), "SELECT * FROM");
    Some(query)
}

/// Whether all that a query says before ORDER BY, or before UNION and the like, is `SELECT * FROM name`.
fn is_one_table(body: &ast::SetExpr) -> bool {
    let select = match body {
        ast::SetExpr::Select(select) => select,
        ast::SetExpr::SetOperation { left, .. } => return is_one_table(left),
        _ => return false,
    };
    let [ast::TableWithJoins { relation: ast::TableFactor::Table { name, .. }, joins }] = select.from.as_slice() else {
        return false;
    };
    joins.is_empty() && select.to_string() == format!("SELECT * FROM {name}")
}

/// Adds what to write instead of what other databases take.
fn with_instead(error: Error, text: &str) -> Error {
    match portico_sources::instead(text, Dialect::POSTGRESQL) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

fn only_reads(verb: &str) -> Error {
    const QUERIES: [&str; 4] = ["SELECT", "WITH", "VALUES", "TABLE"];
    let misspelt = near::nearest(verb, QUERIES);
    if let (Some(hint), false) = (near::did_you_mean(&misspelt), QUERIES.contains(&verb)) {
        let error = Error::new(Kind::Rejected, format!("syntax error: no statement begins with {verb}"));
        return error.sqlstate("42601").hint(hint);
    }
    let verb = if QUERIES.contains(&verb) { "a query that locks or stores rows (FOR UPDATE, INTO)" } else { verb };
    Error::invalid(format!(
        "query: {verb} is not supported over several connections; a statement that names several connections only reads"
    ))
    .hint("address one connection to write; read from the others in a separate statement")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_in_on_is_noticed() {
        let text =
            "SELECT t.id FROM a.b.t t JOIN c.d.o o ON o.id = t.id AND EXISTS (SELECT 1 FROM c.d.o x WHERE x.k = o.k)";
        assert!(query(text, &[]).unwrap().written.joins_by_query);
        assert!(!query("SELECT 1 FROM a.b.t WHERE EXISTS (SELECT 1 FROM c.d.o)", &[]).unwrap().written.joins_by_query);
    }
}
