//! A cast with a name of its own. The engine names a cast after its operand, and confuses two casts of one value.

use std::sync::Arc;

use arrow_schema::DataType as ArrowType;
use datafusion::common::{Result as EngineResult, exec_err};
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::functions::udf_macros::own_signature;

/// The function's name, which no statement can call, and which is never shown.
pub(crate) const NAME: &str = "\u{1}cast";

/// The function.
pub(in crate::functions) fn function() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(NamedCast { signature: Signature::any(1, Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NamedCast {
    signature: Signature,
}

impl ScalarUDFImpl for NamedCast {
    fn name(&self) -> &'static str {
        NAME
    }

    fn schema_name(&self, args: &[Expr]) -> EngineResult<String> {
        match args {
            [Expr::Cast(Cast { expr, field })] => Ok(format!("{}::{}", expr.schema_name(), field.data_type())),
            [other] => Ok(format!("{NAME}({})", other.schema_name())),
            _ => exec_err!("{NAME} takes a value"),
        }
    }

    own_signature!();

    fn return_type(&self, types: &[ArrowType]) -> EngineResult<ArrowType> {
        match types {
            [of] => Ok(of.clone()),
            _ => exec_err!("{NAME} takes a value"),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        args.args.pop().map_or_else(|| exec_err!("{NAME} takes a value"), Ok)
    }
}
