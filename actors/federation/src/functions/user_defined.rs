//! Functions of PostgreSQL that are not the engine's: each is a row of a list.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType as ArrowType;
use datafusion::common::{DataFusionError, Result as EngineResult};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::external_error::external;
use crate::functions::types::categories::no_function;
use crate::functions::udf_macros::{own_signature, same_by};
use portico_core::error::{Error, Kind};

/// A function that is not the engine's.
#[derive(Debug)]
pub(super) struct UserDefinedFunction {
    /// The function's name.
    pub(super) name: &'static str,
    /// Returns the argument types and the result type; `None` for arguments that it does not accept.
    pub(super) types: fn(&[ArrowType]) -> Option<(Vec<ArrowType>, ArrowType)>,
    pub(super) compute: fn(&ScalarFunctionArgs) -> EngineResult<ArrayRef>,
    /// The hint if it does not accept the types.
    pub(super) hint: &'static str,
}

/// The function.
pub(super) fn function(own: &'static UserDefinedFunction) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Function { own, signature: Signature::user_defined(Volatility::Immutable) }))
}

/// Returns the error for a call that PostgreSQL refuses too.
pub(super) fn refused(sqlstate: &'static str, message: String) -> DataFusionError {
    external(Error::new(Kind::Rejected, message).sqlstate(sqlstate))
}

/// What a call says that is not supported over several connections.
pub(super) fn not_there(message: String, hint: &'static str) -> DataFusionError {
    external(Error::new(Kind::Rejected, message).sqlstate("0A000").hint(hint))
}

#[derive(Debug)]
struct Function {
    own: &'static UserDefinedFunction,
    signature: Signature,
}

same_by!(Function, own.name);

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.own.name
    }

    own_signature!();

    /// Other types are left as they are, and refused under their name.
    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        Ok((self.own.types)(types).map_or_else(|| types.to_vec(), |(taken, _)| taken))
    }

    fn return_type(&self, types: &[ArrowType]) -> EngineResult<ArrowType> {
        let answered = (self.own.types)(types).map(|(_, answered)| answered);
        answered.ok_or_else(|| no_function(self.own.name, types, self.own.hint))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        (self.own.compute)(&args).map(ColumnarValue::Array)
    }
}
