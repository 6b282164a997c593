//! `char(n)` among texts one of which is returned. In PostgreSQL the first value that is not a bare literal
//! determines the type, and trailing blanks are insignificant only for `char(n)`.

use datafusion::common::{DFSchema, Result};
use datafusion::functions::string::rtrim;
use datafusion::logical_expr::{Expr, ExprSchemable, lit};

use crate::functions::types::casts::plain_text;
use crate::plan::comparison::Comparison;

/// A text among others: how it compares, and whether it is a bare literal.
pub(in crate::functions) type Text = (Comparison, bool);

/// The values as texts of one type, in the order in which PostgreSQL looks at them.
pub(in crate::functions) fn of_one_type(exprs: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    let texts: Vec<Text> = exprs.iter().map(|expr| (Comparison::handed_on(expr, schema), is_literal(expr))).collect();
    let Some(is_padded) = is_padded(&texts) else { return Ok(exprs) };
    let one = |(expr, (how, _)): (Expr, Text)| as_text(expr, how, is_padded, schema);
    exprs.into_iter().zip(texts).map(one).collect()
}

/// Returns whether the result is padded: if the first value that is not a bare literal is; `None` if none is
/// padded.
pub(in crate::functions) fn is_padded(texts: &[Text]) -> Option<bool> {
    texts.iter().any(|(how, _)| is_padding(*how)).then_some(())?;
    Some(texts.iter().find(|(_, is_literal)| !is_literal).is_some_and(|(how, _)| is_padding(*how)))
}

pub(in crate::functions) fn is_padding(how: Comparison) -> bool {
    matches!(how, Comparison::Padded(_))
}

pub(in crate::functions) fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) => true,
        Expr::Alias(alias) => is_literal(&alias.expr),
        _ => false,
    }
}

/// Returns the text without trailing blanks if all `are_padded`; otherwise as a text with significant blanks.
pub(in crate::functions) fn as_text(expr: Expr, how: Comparison, are_padded: bool, schema: &DFSchema) -> Result<Expr> {
    Ok(match (is_padding(how), are_padded) {
        (true, false) => plain_text(expr),
        (false, true) if expr.get_type(schema)?.is_string() => rtrim().call(vec![expr, lit(" ")]),
        _ => expr,
    })
}
