//! The values of one run of a statement that is prepared.

use tokio_postgres::Statement;

use crate::postgres::bind::argument;
use crate::postgres::bind::argument::BoundValue;
use crate::postgres::bind::split_parameters::SplitParameters;
use crate::statements::bindings;
use portico_core::call::Argument;
use portico_core::error::{Error, Result};

/// The values as the types of the parameters read them.
pub(crate) fn bound(
    arguments: &[Argument],
    ready: &Statement,
    split: Option<&SplitParameters>,
) -> Result<Vec<BoundValue>> {
    let values = split.map_or_else(|| arguments.iter().collect(), |split| split.arguments(arguments));
    if let Some(unasked) = values.get(ready.params().len()) {
        let name = bindings::name_without_at(&unasked.name);
        return Err(Error::invalid(format!("parameter @{name}: the source takes no value there")).hint(format!(
            "@{name} stands for one value, where an expression may stand: definitions are written out"
        )));
    }
    if ready.params().len() > values.len() {
        let (needs, given) = (ready.params().len(), values.len());
        return Err(Error::invalid(format!("parameters: the statement takes {needs} values, and {given} were given")));
    }
    values.into_iter().zip(ready.params()).map(|(argument, type_)| argument::bound(argument, type_)).collect()
}
