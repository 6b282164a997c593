//! The engine's functions of texts and times with PostgreSQL's argument types: the engine accepts other types too,
//! and refuses some of these with errors of its own.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, FieldRef};
use datafusion::common::{DFSchema, DataFusionError, Result as EngineResult};
use datafusion::logical_expr::{Expr, ReturnFieldArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::functions::regular;
use crate::functions::types::categories::no_function;
use crate::functions::udf_macros::{of_inner, own_signature};
use crate::plan::comparison;

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Takes {
    Text,
    /// A whole number; also bigint, which the engine uses for some of PostgreSQL's integers.
    Integer,
    Number,
}

impl Takes {
    fn takes(self, of: &ArrowType) -> bool {
        of.is_null()
            || match self {
                Self::Text => of.is_string(),
                Self::Integer => of.is_signed_integer(),
                Self::Number => of.is_numeric(),
            }
    }

    /// Returns the type that the engine's function gets.
    fn given(self, of: &ArrowType) -> ArrowType {
        match self {
            Self::Text => ArrowType::Utf8,
            Self::Integer => ArrowType::Int64,
            Self::Number => of.clone(),
        }
    }
}

/// Functions as the engine calls them, with their arguments, and how many of these have to be there.
const FUNCTIONS: &[(&str, &[Takes], usize)] = &[
    ("abs", &[Takes::Number], 1),
    ("ascii", &[Takes::Text], 1),
    ("bit_length", &[Takes::Text], 1),
    ("btrim", &[Takes::Text, Takes::Text], 1),
    ("character_length", &[Takes::Text], 1),
    ("initcap", &[Takes::Text], 1),
    ("left", &[Takes::Text, Takes::Integer], 2),
    ("lower", &[Takes::Text], 1),
    ("lpad", &[Takes::Text, Takes::Integer, Takes::Text], 2),
    ("ltrim", &[Takes::Text, Takes::Text], 1),
    ("octet_length", &[Takes::Text], 1),
    ("overlay", &[Takes::Text, Takes::Text, Takes::Integer, Takes::Integer], 3),
    ("repeat", &[Takes::Text, Takes::Integer], 2),
    ("replace", &[Takes::Text, Takes::Text, Takes::Text], 3),
    ("reverse", &[Takes::Text], 1),
    ("right", &[Takes::Text, Takes::Integer], 2),
    ("rpad", &[Takes::Text, Takes::Integer, Takes::Text], 2),
    ("rtrim", &[Takes::Text, Takes::Text], 1),
    ("split_part", &[Takes::Text, Takes::Text, Takes::Integer], 3),
    ("starts_with", &[Takes::Text, Takes::Text], 2),
    ("strpos", &[Takes::Text, Takes::Text], 2),
    ("substr", &[Takes::Text, Takes::Integer, Takes::Integer], 2),
    ("translate", &[Takes::Text, Takes::Text, Takes::Text], 3),
    ("upper", &[Takes::Text], 1),
];

fn arguments(name: &str) -> Option<(&'static [Takes], usize)> {
    FUNCTIONS.iter().find(|(one, ..)| *one == name).map(|(_, takes, needed)| (*takes, *needed))
}

/// Returns true if a function of this name has typed arguments.
pub(crate) fn is_one(name: &str) -> bool {
    arguments(name).is_some()
}

/// The names of the functions with typed arguments.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, ..)| *name)
}

/// Gives the function PostgreSQL's argument types; returns other functions unchanged.
pub(crate) fn typed(inner: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    match arguments(inner.name()) {
        Some((takes, needed)) => {
            let signature = Signature::user_defined(Volatility::Immutable);
            Arc::new(ScalarUDF::new_from_impl(Typed { inner, takes, needed, signature }))
        }
        None => inner,
    }
}

/// Refuses a call with values that are texts only in the engine.
///
/// # Errors
/// `42883`, with what to write.
pub(crate) fn admit(name: &str, args: &[Expr], schema: &DFSchema) -> EngineResult<()> {
    let takes = match name {
        "concat_ws" => &[Takes::Text],
        name if regular::is_one(name) => &[Takes::Text],
        name => arguments(name).map_or(&[][..], |(takes, _)| takes),
    };
    let texts = args.iter().zip(takes).filter(|(_, takes)| **takes == Takes::Text);
    texts.map(|(argument, _)| argument).try_for_each(|argument| comparison::is_text(argument, schema, name))
}

fn refusal(name: &str, of: &[ArrowType]) -> DataFusionError {
    no_function(name, of, "cast what is of another type, or ask for it on the table's own connection")
}

/// A function of the engine.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Typed {
    inner: Arc<ScalarUDF>,
    takes: &'static [Takes],
    needed: usize,
    signature: Signature,
}

impl Typed {
    fn fits(&self, count: usize) -> bool {
        (self.needed..=self.takes.len()).contains(&count)
    }
}

impl ScalarUDFImpl for Typed {
    of_inner! { name aliases return_type simplify invoke_with_args }

    own_signature!();

    /// Other types are left as they are, and refused under their name.
    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        if !self.fits(types.len()) {
            return Ok(types.to_vec());
        }
        let given = |(of, takes): (&ArrowType, &Takes)| if takes.takes(of) { takes.given(of) } else { of.clone() };
        Ok(types.iter().zip(self.takes).map(given).collect())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> EngineResult<FieldRef> {
        let types: Vec<ArrowType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        if self.fits(types.len()) && types.iter().zip(self.takes).all(|(of, takes)| takes.takes(of)) {
            self.inner.return_field_from_args(args)
        } else {
            Err(refusal(self.name(), &types))
        }
    }
}
