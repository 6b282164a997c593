//! The profile of a source: its product, its procedures and its tables.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use portico_core::reply::DataType;

/// What a source reported when it was last read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Product and version, such as `PostgreSQL 15.18`.
    pub product: String,
    /// The schema that unqualified names resolve to first.
    pub default_schema: Option<String>,
    /// The schemas in which unqualified names are looked for, in their order.
    pub path: Arc<[String]>,
    /// The functions and procedures that the connection exposes, ordered by schema and name.
    pub procedures: Arc<[Procedure]>,
    /// The tables and views that the connection exposes, ordered by schema and name; of a source
    /// with more than [`MOST_TABLES`] only the first.
    pub tables: Arc<[Table]>,
}

impl Profile {
    /// As a caller with `role` may know it.
    #[must_use]
    pub fn seen_by(&self, role: &str) -> Self {
        let procedures = self.procedures.iter().filter(|procedure| procedure.is_for(Some(role))).cloned().collect();
        Self { procedures, ..self.clone() }
    }
}

/// The maximal number of tables of a source whose definitions are watched.
pub const MOST_TABLES: u16 = 5_000;

/// A table or view, and a hash that identifies its definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// The schema it lives in.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Differs when its kind, its columns or its comments do. It is compared, never shown.
    pub definition: u64,
}

impl Table {
    /// Makes a table with the hash of `definition`.
    pub(crate) fn new(schema: String, name: String, definition: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        definition.hash(&mut hasher);
        Self { schema, name, definition: hasher.finish() }
    }
}

/// A function or procedure, as callers see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Procedure {
    /// The schema it lives in.
    pub schema: String,
    /// Its name; overloads share it.
    pub name: String,
    /// Its comment.
    pub remarks: Option<String>,
    /// Whether the source itself says that it only reads.
    pub reads_only: bool,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The roles of the source that may run it, if callers have roles; `None` means everybody.
    pub roles: Option<Arc<[String]>>,
}

impl Procedure {
    /// Returns the types of the parameters that a call supplies, in order and as the source names them: they
    /// distinguish overloads.
    pub fn signature(&self) -> Vec<String> {
        let given = |parameter: &&Parameter| matches!(parameter.direction, Direction::In | Direction::InOut);
        self.parameters.iter().filter(given).map(|parameter| parameter.type_name.clone()).collect()
    }

    /// Whether it is the overload with this signature, where one is asked for.
    pub fn is_overload(&self, signature: Option<&[String]>) -> bool {
        signature.is_none_or(|signature| self.signature() == signature)
    }

    /// Whether a caller with `role` may run it.
    pub fn is_for(&self, role: Option<&str>) -> bool {
        match (&self.roles, role) {
            (None, _) => true,
            (Some(roles), Some(role)) => roles.iter().any(|known| known == role),
            (Some(_), None) => false,
        }
    }
}

/// One parameter of a procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name; may be empty where the source allows that.
    pub name: String,
    /// Its direction.
    pub direction: Direction,
    /// Its type on the wire.
    pub data_type: DataType,
    /// Its type in the source's own words.
    pub type_name: String,
    /// Whether it may be left out.
    pub optional: bool,
    /// The administrator's description of the parameter, or what the source says of it.
    pub remarks: Option<String>,
    /// The JSON text of the value that it has when it is left out, where that is declared here.
    pub default: Option<String>,
    /// The labels of an enumeration; empty for other types.
    pub labels: Vec<String>,
}

/// The direction of a parameter; the numbers are those of JDBC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Given by the caller.
    In = 1,
    /// Given and returned.
    InOut = 2,
    /// Returned.
    Out = 4,
    /// The function's own result.
    Return = 5,
}

/// A procedure that the administrator declared: a named, described, parameterised statement.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredProcedure {
    /// The procedure as callers see it.
    pub procedure: Procedure,
    /// The statement, with `@name` placeholders for the parameters.
    pub sql: String,
}
