//! Determines the types that a statement is prepared with. A value means what the same literal would mean: a number
//! or a truth value has its own type, a string or NULL that of its context. Only if the source refuses that, other
//! types are tried, and those that work are cached.

use std::sync::Arc;

use tokio_postgres::types::Type;

use crate::postgres::bind::argument_types::{fits, own};
use crate::postgres::bind::attempts::{Attempts, Inferred};
use crate::postgres::bind::parameter_types::ParameterTypes;
use crate::postgres::bind::split_parameters::SplitParameters;
use crate::postgres::execute::execution::Execution;
use crate::postgres::execute::sent_text::SentText;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use portico_core::call::Argument;
use portico_core::error::Result;

/// Begins the transaction and prepares the statement in it.
///
/// # Errors
/// The source's error, as it would be with literals in place of the values.
pub(crate) async fn inferred(session: &Session, execution: &Execution, context: &CallContext) -> Result<Inferred> {
    let arguments = execution.arguments();
    let mut attempts = Attempts::new(session, execution, context);
    if arguments.is_empty() {
        let ready = attempts.prepare(&None, &[]).await;
        let statement = ready.map_err(|error| execution.failure(&error, &SentText::SAME))?;
        return Ok(Inferred { statement, split: None });
    }
    let known = if execution.position.begins { session.parameter_types().get(|| execution.exact()) } else { None };
    if let Some(ParameterTypes { types, inferred, sharing }) = known {
        let split =
            sharing.and_then(|sharing| SplitParameters::with(&execution.text, arguments, sharing)).map(Arc::new);
        let given = attempts.given(&split);
        let takes = |(argument, type_): (&&Argument, &Type)| own(argument) == Type::UNKNOWN || fits(argument, type_);
        if types.len() == given.len() && given.iter().zip(&inferred).all(takes) {
            // The cached types may depend on objects that no longer exist.
            if let Ok(statement) = Box::pin(attempts.prepare(&split, &types)).await
                && statement.params() == inferred
            {
                return Ok(Inferred { statement, split });
            }
        }
    }
    let found = if execution.means_literals() { attempts.literally().await } else { attempts.by_casts().await };
    let (inferred, types) = found?;
    let is_inferred = |(argument, type_): (&&Argument, &Type)| {
        *type_ == Type::UNKNOWN || own(argument) == *type_ || own(argument) == Type::UNKNOWN
    };
    let is_known = attempts.given(&inferred.split).iter().zip(&types).all(is_inferred);
    if attempts.is_several() && is_known && execution.position.begins {
        let sharing = inferred.split.as_ref().map(|split| Arc::clone(&split.sharing));
        session.parameter_types().insert(
            execution.exact(),
            ParameterTypes { types, inferred: inferred.statement.params().to_vec(), sharing },
        );
    }
    Ok(inferred)
}
