//! Reads what an analysed statement uses from the text of its tree (`pg_node_tree`, PostgreSQL's `outfuncs.c`).
//! Names are resolved in it and types inferred; nothing has run.
//!
//! The text is read as a sequence of words. A label is interpreted with the words after it, which are never
//! skipped: an alias or column name that looks like a label can add a use that does not exist, and so cause a
//! refusal, but can hide none. Braces in such names are escaped, so that nodes are recognised reliably.

use std::collections::BTreeSet;

use tokio_postgres::types::{Oid, Type};

use crate::postgres::walls::objects::NAMING_TYPES;

/// What a statement does and uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    /// `CmdType` of the statement itself: 1 select, 2 update, 3 insert, 4 delete, 5 merge.
    pub(crate) command: u32,
    /// Whether a part of it, such as a CTE, changes data.
    pub(crate) modifies: bool,
    /// Whether it locks rows.
    pub(crate) locks: bool,
    /// Every relation that it names.
    pub(crate) relations: BTreeSet<Oid>,
    /// Every function that it calls, aggregates and window functions among them.
    pub(crate) functions: BTreeSet<Oid>,
    /// Every operator that it uses.
    pub(crate) operators: BTreeSet<Oid>,
    /// Types of its literals.
    pub(crate) literals: BTreeSet<Oid>,
    /// Every type that the statement itself names or makes.
    pub(crate) types: BTreeSet<Oid>,
    /// Constants that name an object: the type (`regclass` …) and the object's number.
    pub(crate) constants: BTreeSet<(Oid, Oid)>,
    /// Types of values that are computed: by a cast, by a parameter, by a list of columns.
    pub(crate) casts: BTreeSet<Oid>,
    /// Types of the columns that it reads.
    pub(crate) columns: BTreeSet<Oid>,
    /// Each call of a function by name, with its first argument where that is a literal text.
    calls: Vec<(Oid, Option<String>)>,
}

/// The known kinds of node. Any other is of a later server, and refused.
const NODES: &str = include_str!("nodes.txt");

/// The labels of numbers that matter for the check ([`Uses::take`]).
const JUDGED: [&str; 26] = [
    ":aggfnoid",
    ":aggsortop",
    ":array_typeid",
    ":consttype",
    ":cycle_mark_neop",
    ":element_typeid",
    ":endInRangeFunc",
    ":eqop",
    ":funcid",
    ":funcresulttype",
    ":opfuncid",
    ":opno",
    ":paramtype",
    ":refcontainertype",
    ":refelemtype",
    ":refrestype",
    ":relid",
    ":resulttype",
    ":row_typeid",
    ":sortop",
    ":startInRangeFunc",
    ":tsmhandler",
    ":typeId",
    ":typid",
    ":vartype",
    ":winfnoid",
];
/// The other labels that servers write, and why they do not matter.
const PASSED_OVER: &str = include_str!("labels.txt");

/// For the test that reads a server's program: returns true if numbers of this label are checked, or known not to
/// matter.
pub fn is_label_known(label: &str) -> bool {
    JUDGED.contains(&label) || PASSED_OVER.lines().any(|known| known == label)
}

/// `current_setting(text)` and `current_setting(text, boolean)`, by their fixed numbers.
const CURRENT_SETTING: [Oid; 2] = [2077, 3294];

/// Reads the tree of one statement.
///
/// # Errors
/// In a word, the part of it that is not understood.
pub(crate) fn read(tree: &str) -> Result<Uses, String> {
    let words: Vec<Word<'_>> = Words { rest: tree }.collect();
    let mut uses = Uses::default();
    let mut depth = 0_usize;
    let mut statements = 0;
    for (at, word) in words.iter().enumerate() {
        match *word {
            Word::Node(name) => {
                if !NODES.lines().any(|known| known == name) {
                    return Err(format!("a node {name}"));
                }
                if depth == 0 {
                    statements += 1;
                    if name != "QUERY" {
                        return Err(format!("a statement {name}"));
                    }
                }
                depth += 1;
            }
            Word::CloseNode => depth = depth.checked_sub(1).ok_or("a brace without a partner")?,
            Word::Plain(label) if label.starts_with(':') => {
                let following = words.get(at + 1..).unwrap_or_default();
                uses.take(label, following, depth == 1)?;
            }
            Word::Plain(_) | Word::Open | Word::Close | Word::OpenOctets | Word::CloseOctets => {}
        }
    }
    match (statements, depth, uses.command) {
        (1, 0, 1..=5) => Ok(uses),
        (0 | 1, ..) => Err("an incomplete tree".to_owned()),
        _ => Err("several statements".to_owned()),
    }
}

impl Uses {
    /// How often the function with this number is called by name.
    pub(crate) fn calls(&self, function: Oid) -> usize {
        self.calls.iter().filter(|(called, _)| *called == function).count()
    }

    /// The literals that are the first argument of the function with this number.
    pub(crate) fn literals_of(&self, function: Oid) -> impl Iterator<Item = &str> {
        self.calls.iter().filter(move |(called, _)| *called == function).filter_map(|(_, literal)| literal.as_deref())
    }

    fn take(&mut self, label: &str, following: &[Word<'_>], outermost: bool) -> Result<(), String> {
        let number = match following.first() {
            Some(Word::Plain(digits)) => digits.parse::<u32>().ok(),
            _ => None,
        };
        match (label, number) {
            (":commandType", Some(command)) => {
                if outermost && self.command == 0 {
                    self.command = command;
                } else if command != 1 {
                    // A merge's actions bear the label too, and are the statement's own.
                    self.modifies = true;
                }
            }
            (":hasModifyingCTE", _) => self.modifies |= is_true(following),
            (":hasForUpdate", _) => self.locks |= is_true(following),
            (":funcid", Some(oid)) => {
                insert_valid(&mut self.functions, oid);
                self.calls.push((oid, first_text(following)));
            }
            (":relid", Some(oid)) => insert_valid(&mut self.relations, oid),
            (
                ":opfuncid" | ":aggfnoid" | ":winfnoid" | ":tsmhandler" | ":startInRangeFunc" | ":endInRangeFunc",
                Some(oid),
            ) => insert_valid(&mut self.functions, oid),
            (":opno" | ":cycle_mark_neop" | ":eqop" | ":sortop" | ":aggsortop", Some(oid)) => {
                insert_valid(&mut self.operators, oid);
            }
            (":opnos", _) => self.operators.extend(oids(following)?),
            (":consttype", Some(oid)) => {
                insert_valid(&mut self.literals, oid);
                insert_valid(&mut self.types, oid);
                if let Some(value) = constant(following) {
                    self.constants.insert((oid, value));
                }
            }
            (":funcresulttype", Some(oid)) => insert_valid(&mut self.casts, oid),
            (":vartype" | ":refrestype" | ":refelemtype" | ":refcontainertype", Some(oid)) => {
                insert_valid(&mut self.columns, oid);
            }
            (
                ":resulttype" | ":paramtype" | ":row_typeid" | ":array_typeid" | ":element_typeid" | ":typeId"
                | ":typid",
                Some(oid),
            ) => {
                insert_valid(&mut self.types, oid);
                insert_valid(&mut self.casts, oid);
            }
            (":funccoltypes" | ":coltypes", _) => {
                let named = oids(following)?;
                self.types.extend(&named);
                self.casts.extend(&named);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Uses {
    /// Returns true if it is a SELECT that changes nothing by itself.
    pub(crate) fn only_reads(&self) -> bool {
        self.command == 1 && !self.modifies
    }

    /// Returns true if another literal in its place could change what the statement uses.
    pub(crate) fn depends_on_literals(&self) -> bool {
        self.constants.iter().any(|(type_, _)| NAMING_TYPES.contains(type_))
            || self.functions.iter().any(|function| CURRENT_SETTING.contains(function))
    }

    /// Whether it reads columns of type regclass.
    pub(crate) fn names_stored(&self) -> bool {
        self.columns.contains(&Type::REGCLASS.oid())
    }
}

fn insert_valid(set: &mut BTreeSet<Oid>, oid: Oid) {
    if oid != 0 {
        set.insert(oid);
    }
}

fn is_true(following: &[Word<'_>]) -> bool {
    matches!(following.first(), Some(Word::Plain("true")))
}

/// The numbers of a list `(o 1 2)`; `<>` is an empty one.
fn oids(following: &[Word<'_>]) -> Result<Vec<Oid>, String> {
    match following {
        [Word::Plain("<>"), ..] => Ok(Vec::new()),
        [Word::Open, Word::Plain("o"), rest @ ..] => rest
            .iter()
            .take_while(|word| **word != Word::Close)
            .map(|word| match word {
                Word::Plain(digits) => digits.parse().map_err(|_| "a list of types".to_owned()),
                _ => Err("a list of types".to_owned()),
            })
            .collect(),
        // An alias is spelled like the label.
        _ => Ok(Vec::new()),
    }
}

/// The length of a constant and its octets, behind its label `:consttype`: between the two stand numbers and
/// truth values alone. Octets are printed with their sign.
fn octets<'a>(following: &'a [Word<'a>]) -> Option<(&'a str, impl Iterator<Item = Option<u8>> + 'a)> {
    let from = following.iter().take(14).position(|word| *word == Word::Plain(":constvalue"))?;
    let [Word::Plain(length), Word::OpenOctets, octets @ ..] = following.get(from + 1..)? else { return None };
    let octets = octets.iter().take_while(|word| **word != Word::CloseOctets).map(|word| match word {
        Word::Plain(octet) => Some(octet.parse::<i16>().ok()?.to_le_bytes()[0]),
        _ => None,
    });
    Some((length, octets))
}

/// The value of a constant of four octets, behind its label `:consttype`.
fn constant(following: &[Word<'_>]) -> Option<Oid> {
    let (_, octets) = octets(following).filter(|(length, _)| *length == "4")?;
    let mut value = [0_u8; 4];
    for (place, octet) in value.iter_mut().zip(octets) {
        *place = octet?;
    }
    // The server writes its own memory. That of a big-endian server is read as another OID, which is not exposed
    // and is refused.
    Some(Oid::from_le_bytes(value))
}

/// The first argument of a call, behind its label `:funcid`, where that is a literal of type text:
/// between the two stand numbers and truth values alone.
fn first_text(following: &[Word<'_>]) -> Option<String> {
    let head = following.get(..24)?;
    let arguments = head.iter().position(|word| *word == Word::Plain(":args"))?;
    let [Word::Open, Word::Node("CONST"), Word::Plain(":consttype"), Word::Plain("25"), rest @ ..] =
        following.get(arguments + 1..)?
    else {
        return None;
    };
    let octets: Option<Vec<u8>> = octets(rest)?.1.collect();
    // Four octets of length stand in front.
    String::from_utf8(octets?.get(4..)?.to_vec()).ok()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word<'a> {
    /// `{NAME`
    Node(&'a str),
    CloseNode,
    Open,
    Close,
    OpenOctets,
    CloseOctets,
    Plain(&'a str),
}

struct Words<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\t']);
        let first = self.rest.bytes().next()?;
        let single = match first {
            b'(' => Some(Word::Open),
            b')' => Some(Word::Close),
            b'}' => Some(Word::CloseNode),
            _ => None,
        };
        if let Some(word) = single {
            self.rest = &self.rest[1..];
            return Some(word);
        }
        let start = usize::from(first == b'{');
        let bytes = self.rest.as_bytes();
        let mut end = start;
        while let Some(byte) = bytes.get(end) {
            match byte {
                // The next character is part of the word, whatever it is.
                b'\\' => end += 2,
                b' ' | b'\n' | b'\t' | b'(' | b')' | b'{' | b'}' => break,
                _ => end += 1,
            }
        }
        let mut end = end.min(self.rest.len());
        while !self.rest.is_char_boundary(end) {
            end += 1;
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(match word {
            "[" => Word::OpenOctets,
            "]" => Word::CloseOctets,
            _ if start == 1 => Word::Node(word.get(1..).unwrap_or_default()),
            _ => Word::Plain(word),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_judged_by_their_labels() {
        let takes = |label: &str| {
            let mut uses = Uses::default();
            uses.take(label, &[Word::Plain("70000")], false).unwrap();
            [&uses.relations, &uses.functions, &uses.operators, &uses.types, &uses.casts, &uses.columns]
                .iter()
                .any(|oids| oids.contains(&70_000))
        };
        for label in JUDGED {
            assert!(takes(label), "{label}");
        }
        for label in PASSED_OVER.lines().filter(|line| line.starts_with(':')) {
            assert!(!takes(label) && !JUDGED.contains(&label), "{label}");
        }
    }

    const SELECT: &str = "(({QUERY :commandType 1 :querySource 0 :hasForUpdate false :hasModifyingCTE false :rtable \
        ({RANGETBLENTRY :alias {ALIAS :aliasname :relid :colnames (\"a\\ :funcid\\ 7\" \"\\{x\")} :rtekind 0 :relid 16385 \
        :relkind r}) :targetList ({TARGETENTRY :expr {COERCEVIAIO :arg {CONST :consttype 2205 :consttypmod -1 \
        :constcollid 0 :constlen 4 :constbyval true :constisnull false :location 106 :constvalue 4 [ 1 -64 0 0 0 0 0 0 ]} \
        :resulttype 25} :resno 3 :resname :relid\\ a} {TARGETENTRY :expr {ROWCOMPAREEXPR :opnos (o 96 97) :largs <>}}) \
        :groupClause <>}))";

    #[test]
    fn what_a_statement_uses_is_read_by_number() {
        let uses = read(SELECT).unwrap();
        assert_eq!((uses.command, uses.modifies, uses.locks), (1, false, false));
        assert_eq!(uses.relations, [16385].into());
        assert_eq!(uses.operators, [96, 97].into());
        assert_eq!(uses.constants, [(2205, 0xC001)].into());
        assert_eq!(uses.casts, [25].into());
        assert!(uses.functions.is_empty(), "{:?}", uses.functions);
    }

    #[test]
    fn a_name_that_looks_like_a_label_hides_nothing() {
        let tree = "(({QUERY :commandType 1 :rtable ({RANGETBLENTRY :alias {ALIAS :aliasname :funcid} :relid 5} \
            {RANGETBLENTRY :eref {ALIAS :aliasname :relid} :relid 6})}))";
        assert_eq!(read(tree).unwrap().relations, [5, 6].into());
    }

    #[test]
    fn what_changes_data_within_a_query_is_seen() {
        let tree = "(({QUERY :commandType 1 :hasModifyingCTE true :cteList ({COMMONTABLEEXPR :ctequery {QUERY \
            :commandType 4 :rtable <>}})}))";
        assert!(read(tree).unwrap().modifies);
    }

    #[test]
    fn what_is_not_one_known_statement_is_not_understood() {
        for tree in [
            "(({QUERY :commandType 1} {QUERY :commandType 1}))",
            "(({QUERY :commandType 6}))",
            "(({QUERY :commandType 1 :x {NEWNODE :a 1}}))",
            "(({CONST :consttype 1}))",
            "(({QUERY :commandType 1",
            "",
        ] {
            assert!(read(tree).is_err(), "{tree}");
        }
    }
}
