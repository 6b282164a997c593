//! Our own errors within the engine.

use std::fmt;

use datafusion::error::DataFusionError;

use portico_core::error::Error;

/// Carries our own error through the engine.
#[derive(Debug)]
struct ExternalError(Error);

impl fmt::Display for ExternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for ExternalError {}

/// `error` for the engine to carry.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(ExternalError(error)))
}

/// Returns our own error, if it is somewhere within.
pub(crate) fn find(error: &DataFusionError) -> Option<&Error> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(ExternalError(error)) = error.downcast_ref() {
            return Some(error);
        }
        if let Some(DataFusionError::External(inner)) = error.downcast_ref()
            && let Some(ExternalError(error)) = inner.downcast_ref()
        {
            return Some(error);
        }
        cause = error.source();
    }
    None
}
