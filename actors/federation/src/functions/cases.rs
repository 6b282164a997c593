//! CASE, and functions that become one: NULLIF and COALESCE.

use std::sync::Arc;

use arrow_schema::DataType as ArrowType;
use datafusion::common::{DFSchema, Result as EngineResult, ScalarValue, not_impl_err};
use datafusion::logical_expr::expr::Case;
use datafusion::logical_expr::{
    Expr, ExprSchemable, ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast as to_type, when,
};

use crate::external_error::external;
use crate::functions::numbers::{self, doubles};
use crate::functions::types::casts::{self, type_of_literal};
use crate::functions::types::categories::type_name;
use crate::functions::types::common_type::{Use, alike, answered, is_constant, same};
use crate::functions::udf_macros::{of_inner, own_signature};
use portico_core::error::{Error, Kind};

/// Rewrites a CASE so that its values are compared and returned as in PostgreSQL.
pub(super) fn branches(Case { expr, when_then_expr, else_expr }: Case, schema: &DFSchema) -> EngineResult<Case> {
    let (mut whens, mut thens): (Vec<Expr>, Vec<Expr>) =
        when_then_expr.into_iter().map(|(when, then)| (*when, *then)).unzip();
    let mut subject = None;
    if let Some(expr) = expr {
        whens.insert(0, *expr);
        whens = same(whens, schema, false, Use::Compared)?;
        // The engine looks constants up by their bits.
        whens = whens.into_iter().map(|one| doubles::with_one_zero(one, schema)).collect::<EngineResult<_>>()?;
        subject = Some(Box::new(whens.remove(0)));
    } else {
        whens.iter().try_for_each(|when| is_condition(when, schema))?;
    }
    let has_else = else_expr.is_some();
    // PostgreSQL looks at its type first.
    thens.splice(0..0, else_expr.map(|expr| *expr));
    let mut thens = answered(thens, schema)?;
    let other = has_else.then(|| Box::new(thens.remove(0)));
    let pairs = whens.into_iter().zip(thens).map(|(when, then)| (Box::new(when), Box::new(then))).collect();
    Ok(Case { expr: subject, when_then_expr: pairs, else_expr: other })
}

/// Refuses a condition that PostgreSQL does not accept: the engine accepts numbers.
fn is_condition(expr: &Expr, schema: &DFSchema) -> EngineResult<()> {
    match expr.get_type(schema) {
        Ok(of) if of != ArrowType::Boolean && !of.is_null() && !is_constant(expr) => {
            let message = format!("argument of CASE/WHEN must be type boolean, not type {}", type_name(&of));
            Err(external(Error::new(Kind::Rejected, message).sqlstate("42804").hint("compare it: … <> 0")))
        }
        _ => Ok(()),
    }
}

/// `NULLIF`, whose result has the type in which both are compared: a whole number beside a decimal or a float
/// becomes one.
pub(super) fn nullif(args: Vec<Expr>, schema: &DFSchema) -> EngineResult<Expr> {
    let Ok([value, other]) = <[Expr; 2]>::try_from(casts::literals_beside(args, schema)?) else {
        return not_impl_err!("NULLIF with another number of values than two");
    };
    let of_other = other.get_type(schema)?;
    let [left, right] = alike([value.clone(), other], schema, false)?;
    let value = match value.get_type(schema)? {
        of if numbers::is_exact(&of) && of_other.is_floating() => left.clone(),
        of if of.is_integer() && of_other.is_decimal() => to_type(value, numbers::as_exact(&of)),
        _ => value,
    };
    let type_ = value.get_type(schema)?;
    let null = Expr::Literal(ScalarValue::try_from(&type_)?, None);
    when(left.eq(right), null).otherwise(value)
}

/// `COALESCE`, with literals that get the type of the other values only later.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Coalesce {
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

/// Allows literals beside values that are not text; returns other functions unchanged.
pub(super) fn with_literals(inner: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    if inner.name() != "coalesce" {
        return inner;
    }
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Coalesce { inner, signature }))
}

impl ScalarUDFImpl for Coalesce {
    of_inner! { name return_type return_field_from_args simplify invoke_with_args }

    own_signature!();

    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        let others: Vec<ArrowType> = types.iter().filter(|of| !of.is_string()).cloned().collect();
        match type_of_literal(&others).filter(|_| others.len() < types.len()) {
            Some(type_) => Ok(vec![type_; types.len()]),
            None => self.inner.coerce_types(types),
        }
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(args)
    }

    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }
}
