//! The known effects of functions of `pg_catalog` and of extensions: the lists in `functions/`.
//!
//! A list has groups, each headed by a line `effect: reason`, and ended by an empty line. A group's lines are
//! signatures, as [`SIGNATURE`] returns them, each optionally with the major versions of the server that have it:
//! `16-`, `14-16`; `?` if it depends on the extension's version. `name(*)` stands for every function of the name
//! without a line of its own, and is never `plain`: a future function must not be admitted by its name. `[name]`
//! starts an extension. `#` starts a comment.
//!
//! Of `pg_catalog` every stable and volatile function is listed, and the immutable ones that are not plain; a
//! server with other functions fails a test.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The effect of a built-in function or one of an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Has no side effect, and reads nothing: admitted everywhere.
    Plain,
    /// As plain ones, but its result comes from the session's own random generator: a caller who has seen some
    /// results could predict those of the next caller, unless it is reseeded. Admitted everywhere, but the session
    /// is always cleaned.
    Chance,
    /// Reads the catalogue, relations, roles, files, sessions or settings by name, number or text: refused if
    /// something is hidden; harmless on a read-only connection.
    Tells,
    /// Takes a `regclass` and reads about that relation: if something is hidden, admitted only with a literal that
    /// names an exposed relation; harmless on a read-only connection.
    Relation,
    /// `nextval`, `currval`, `setval`, `lastval`: as a relation if something is hidden; has side effects, and the
    /// server's read-only transaction refuses those that write.
    Sequence,
    /// Acts beside its result although it is called in a SELECT, runs a text as SQL, or reaches
    /// outside: refused on read-only and identity connections and where something is hidden.
    Acts,
}

/// The signature of a function, an SQL expression over `p`, a row of `pg_proc`: its name and the names of its
/// arguments' types, as the catalogue has them (`int4`, not `integer`; `text[]` for arrays), without schemas: so it
/// does not depend on the schema of an extension or on the search path.
pub(crate) const SIGNATURE: &str = "pg_catalog.concat(p.proname, '(', \
    (SELECT pg_catalog.string_agg(\
         (SELECT CASE WHEN e.oid IS NULL THEN t.typname::pg_catalog.text ELSE pg_catalog.concat(e.typname, '[]') END \
          FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type e \
              ON e.oid OPERATOR(pg_catalog.=) t.typelem AND e.typarray OPERATOR(pg_catalog.=) t.oid \
          WHERE t.oid OPERATOR(pg_catalog.=) a.type), ',' ORDER BY a.n) \
     FROM pg_catalog.unnest(p.proargtypes) WITH ORDINALITY a(type, n)), ')')";

/// The name of the extension that a function belongs to or NULL, an SQL expression over `p`, a row of `pg_proc`. It
/// takes precedence over the schema: an extension may be in `pg_catalog`.
pub(crate) const EXTENSION: &str = "(SELECT x.extname::pg_catalog.text \
     FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension x ON x.oid OPERATOR(pg_catalog.=) d.refobjid \
     WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass \
       AND d.objid OPERATOR(pg_catalog.=) p.oid \
       AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass \
       AND d.deptype OPERATOR(pg_catalog.=) 'e')";

/// Returns the listed effect of a function of `pg_catalog` or of an extension; `None` if it is not listed: then it
/// is admitted only if it is immutable.
pub(crate) fn effect(extension: Option<&str>, signature: &str) -> Option<Effect> {
    let (name, arguments) = signature.split_once('(')?;
    let listed = LISTED.get(extension.unwrap_or_default()).and_then(|functions| {
        functions.get(signature).or_else(|| functions.get(format!("{name}(*)").as_str())).copied()
    });
    // No caller has a value of type `internal`: calling such a function passes NULL to code that only the server
    // calls. Functions for TABLESAMPLE are listed.
    let internal = || arguments.trim_end_matches(')').split(',').any(|argument| argument == "internal");
    listed.or_else(|| internal().then_some(Effect::Acts))
}

/// Returns true if the value of a setting reveals nothing hidden, for SHOW and for `current_setting` with a
/// literal.
pub(crate) fn is_harmless_setting(name: &str) -> bool {
    settings().any(|setting| setting.eq_ignore_ascii_case(name))
}

/// For the test that compares the lists with a server: the extension, signature and immutability of its functions
/// of `pg_catalog` and of extensions.
pub fn functions_query() -> String {
    format!(
        "SELECT {EXTENSION}, {SIGNATURE}, p.provolatile OPERATOR(pg_catalog.=) 'i' FROM pg_catalog.pg_proc p \
         WHERE p.pronamespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace \
            OR {EXTENSION} IS NOT NULL"
    )
}

/// For the same test: the extension (empty for `pg_catalog`), signature and versions of each line.
pub fn functions_listed() -> impl Iterator<Item = [&'static str; 3]> {
    lines().flatten().map(|line| [line.extension, line.signature, line.versions])
}

/// For the same test: whether a function of `pg_catalog` is listed.
pub fn is_function_listed(signature: &str) -> bool {
    effect(None, signature).is_some()
}

/// The lists, all of one form.
const LISTS: [&str; 5] = [
    include_str!("functions/values.txt"),
    include_str!("functions/catalogue.txt"),
    include_str!("functions/server.txt"),
    include_str!("functions/acts.txt"),
    include_str!("functions/extensions.txt"),
];

const SETTINGS: &str = include_str!("functions/settings.txt");

/// By extension ("" is `pg_catalog`) and signature.
static LISTED: LazyLock<HashMap<&str, HashMap<&str, Effect>>> = LazyLock::new(|| {
    let mut listed: HashMap<&str, HashMap<&str, Effect>> = HashMap::new();
    for line in lines().flatten() {
        listed.entry(line.extension).or_default().insert(line.signature, line.effect);
    }
    listed
});

/// A signature of a list.
struct Line {
    /// Empty for `pg_catalog`.
    extension: &'static str,
    signature: &'static str,
    effect: Effect,
    /// Which servers have it; empty for all.
    versions: &'static str,
}

/// The signatures of all lists; a line that is not of the form is an error, which a test finds.
fn lines() -> impl Iterator<Item = Result<Line, &'static str>> {
    LISTS.into_iter().flat_map(|list| {
        let mut extension = "";
        let mut effect = None;
        list.lines().filter(|line| !line.starts_with('#')).filter_map(move |line| {
            if line.is_empty() {
                effect = None;
                return None;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                (extension, effect) = (name, None);
                return None;
            }
            if let Some((word, _)) = line.split_once(": ") {
                effect = effect_of(word);
                return effect.is_none().then_some(Err(line));
            }
            let (signature, versions) = line.split_once(' ').unwrap_or((line, ""));
            Some(effect.map(|effect| Line { extension, signature, effect, versions }).ok_or(line))
        })
    })
}

fn effect_of(word: &str) -> Option<Effect> {
    match word {
        "plain" => Some(Effect::Plain),
        "chance" => Some(Effect::Chance),
        "tells" => Some(Effect::Tells),
        "relation" => Some(Effect::Relation),
        "sequence" => Some(Effect::Sequence),
        "acts" => Some(Effect::Acts),
        _ => None,
    }
}

fn settings() -> impl Iterator<Item = &'static str> {
    SETTINGS.lines().filter(|line| !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_of_the_form() {
        for line in lines() {
            let line = line.unwrap_or_else(|line| panic!("{line}: not understood"));
            let Some((name, arguments)) = line.signature.split_once('(') else { panic!("{}", line.signature) };
            assert!(
                !name.is_empty() && arguments.ends_with(')') && !line.signature.contains(' '),
                "{}",
                line.signature
            );
            if arguments == "*)" {
                assert!(!line.extension.is_empty(), "{}: a new function of pg_catalog is looked at", line.signature);
                assert!(
                    !matches!(line.effect, Effect::Plain | Effect::Chance),
                    "{}: not known what it will stand for",
                    line.signature
                );
            }
            assert!(line.versions != "?" || !line.extension.is_empty(), "{}: which servers?", line.signature);
        }
    }

    #[test]
    fn each_signature_is_listed_once_and_groups_are_sorted() {
        let mut seen = std::collections::HashSet::new();
        for line in lines().flatten() {
            assert!(seen.insert((line.extension, line.signature)), "{} {}: twice", line.extension, line.signature);
        }
        assert!(seen.len() > 900, "the lists were not found");
        for list in LISTS {
            for group in list.split("\n\n") {
                let signatures: Vec<&str> =
                    group.lines().filter(|line| !line.contains(": ") && !line.starts_with(['#', '['])).collect();
                assert!(signatures.is_sorted(), "{group}");
            }
        }
    }

    #[test]
    fn every_group_gives_a_reason() {
        for list in LISTS {
            for line in list.lines().filter(|line| !line.starts_with('#')) {
                if let Some((word, reason)) = line.split_once(": ") {
                    assert!(effect_of(word).is_some() && reason.len() > 5, "{line}");
                }
            }
        }
    }

    /// The effects that must never change.
    #[test]
    fn the_well_known_ones_are_what_they_are() {
        use Effect::{Acts, Chance, Plain, Relation, Sequence, Tells};
        let built_in = [
            (Chance, "random()"),
            (Plain, "now() clock_timestamp() gen_random_uuid() version() current_database() pg_backend_pid()"),
            (Plain, "to_char(timestamptz,text) date_trunc(text,timestamptz) date_lt_timestamptz(date,timestamptz)"),
            (
                Plain,
                "age(timestamptz) to_date(text,text) to_number(text,text) timestamptz_pl_interval(timestamptz,interval)",
            ),
            (Plain, "array_to_string(anyarray,text) concat(any) format(text,any) enum_range(anyenum) pg_typeof(any)"),
            (Plain, "row_to_json(record) jsonb_agg(anyelement) jsonb_build_object(any) jsonb_to_recordset(jsonb)"),
            (Plain, "generate_series(timestamptz,timestamptz,interval) to_tsvector(text) plainto_tsquery(text)"),
            (Plain, "bernoulli(internal) system(internal) pg_column_size(any) pg_current_snapshot() pg_sleep(float8)"),
            (
                Relation,
                "pg_relation_size(regclass) pg_total_relation_size(regclass) table_to_xml(regclass,bool,bool,text)",
            ),
            (
                Sequence,
                "nextval(regclass) currval(regclass) setval(regclass,int8) setval(regclass,int8,bool) lastval()",
            ),
            (Tells, "format_type(oid,int4) pg_get_viewdef(text) pg_get_serial_sequence(text,text) to_regclass(text)"),
            (Tells, "regclassin(cstring) regclass(text) record_in(cstring,oid,int4) pg_input_is_valid(text,text)"),
            (
                Tells,
                "has_table_privilege(text,text) obj_description(oid,name) pg_table_is_visible(oid) currtid2(text,tid)",
            ),
            (Tells, "pg_identify_object(oid,oid,int4) oidvectortypes(oidvector) pg_describe_object(oid,oid,int4)"),
            (Tells, "satisfies_hash_partition(oid,int4,int4,any) makeaclitem(oid,oid,text,bool) aclitemin(cstring)"),
            (
                Tells,
                "current_setting(text) pg_show_all_settings() pg_stat_get_activity(int4) schema_to_xml(name,bool,bool,text)",
            ),
            (
                Tells,
                "pg_stat_get_live_tuples(oid) pg_ls_dir(text) lo_get(oid) current_schemas(bool) pg_prepared_statement()",
            ),
            (Acts, "set_config(text,text,bool) setseed(float8) pg_notify(text,text) pg_terminate_backend(int4,int8)"),
            (Acts, "pg_cancel_backend(int4) pg_reload_conf() pg_stat_reset() pg_logical_emit_message(bool,text,text)"),
            (Acts, "lo_import(text) lo_export(oid,text) pg_read_file(text) pg_advisory_lock(int8) txid_current()"),
            (Acts, "query_to_xml(text,bool,bool,text) ts_stat(text) ts_rewrite(tsquery,text) pg_export_snapshot()"),
            (
                Acts,
                "int8_avg_combine(internal,internal) array_recv(internal,oid,int4) eqsel(internal,oid,internal,int4)",
            ),
        ];
        for (expected, signatures) in built_in {
            for signature in signatures.split(' ') {
                assert_eq!(effect(None, signature), Some(expected), "{signature}");
            }
        }
        let of_extensions = [
            ("pgcrypto", "gen_salt(text)", Plain),
            ("unaccent", "unaccent(text)", Plain),
            ("tablefunc", "normal_rand(int4,float8,float8)", Chance),
            ("tablefunc", "crosstab(text,text)", Acts),
            ("tablefunc", "connectby(text,text,text,text,int4)", Acts),
            ("dblink", "dblink_exec(text,text)", Acts),
            ("xml2", "xpath_table(text,text,text,text,text)", Acts),
            ("address_standardizer", "standardize_address(text,text,text,text)", Acts),
            ("postgis_raster", "st_mapalgebra(raster,int4,text,text,float8)", Acts),
            ("postgis", "st_estimatedextent(text,text)", Tells),
            ("postgis", "geometry_recv(internal)", Acts),
            ("tsm_system_rows", "system_rows(internal)", Plain),
        ];
        for (extension, signature, expected) in of_extensions {
            assert_eq!(effect(Some(extension), signature), Some(expected), "{extension} {signature}");
        }
    }

    #[test]
    fn what_is_not_listed_has_no_verdict() {
        assert_eq!(effect(None, "abs(int4)"), None);
        assert_eq!(effect(None, "now"), None);
        assert_eq!(effect(None, "now(text)"), None, "another signature of the name");
        assert_eq!(effect(Some("mine"), "now()"), None, "an extension's function of the name");
        assert_eq!(effect(None, "gen_salt(text)"), None, "a built-in of an extension's name");
        assert_eq!(effect(Some("pageinspect"), "get_raw_page(text,int8)"), None);
    }

    #[test]
    fn settings_of_ones_own_are_never_harmless() {
        assert!(is_harmless_setting("TimeZone") && is_harmless_setting("server_version_num"));
        for name in ["search_path", "role", "request.jwt.claims", "data_directory", ""] {
            assert!(!is_harmless_setting(name), "{name}");
        }
        assert!(settings().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')));
        assert!(settings().is_sorted());
    }
}
