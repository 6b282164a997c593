//! Spellings of one reference to what is hidden, and what can stand around it.

use serde_json::{Value, json};

use crate::walls::attack::{CHANNELS, Channel, Random};

/// What is hidden: its schema and its name.
pub(super) struct Target {
    pub(super) schema: &'static str,
    pub(super) name: &'static str,
    /// What is read by name as a table is; else it only fits where its kind is named.
    pub(super) oid: u32,
}

/// One line of the lists of positions.
#[derive(Clone, Debug)]
pub(super) struct Position {
    pub(super) text: String,
    /// It may run, and must tell nothing.
    pub(super) may_run: bool,
    pub(super) default_schema: Option<String>,
}

/// The lines of a list of positions.
pub(super) fn positions(list: &str) -> Vec<Position> {
    let position = |line: &str| {
        let (may_run, line) = line.strip_prefix('~').map_or((false, line), |line| (true, line));
        let (default_schema, text) = match line.strip_prefix('#').and_then(|line| line.split_once(' ')) {
            Some((schema, text)) => (Some(schema.to_owned()), text),
            None => (None, line),
        };
        Position { text: text.to_owned(), may_run, default_schema }
    };
    list.lines().filter(|line| !line.starts_with("--") && !line.is_empty()).map(position).collect()
}

/// How a reference is written. The plainest look is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    seed: u64,
    /// 1 quoted, 2 and 3 by U&, 4 in brackets, 5 with more than counts of it.
    quoting: usize,
    /// 1 by schema, 2 by database, 3 by connection, 4 by the default schema.
    qualification: usize,
    /// Keywords in random case, and names that fold.
    cases: bool,
    /// What stands between words.
    spaces: bool,
    /// What stands in front.
    prefix: usize,
    /// What stands around a query.
    wrapper: usize,
}

const PREFIXES: [&str; 8] =
    ["", "/**/", "/* /* */ */ ", "/*/**/*/", "-- '\n", " \t\u{c}\n", "/* \" $$ ' -- */ ", "-- /*\n"];

/// `{q}` is the query. `{ones}` makes it longer than a parser's bound, `{deep}` and `{up}` nest it.
const WRAPPERS: [&str; 16] = [
    "{q}",
    "SELECT * FROM ({q}) AS w",
    "WITH w AS ({q}) SELECT * FROM w",
    "SELECT 1 WHERE EXISTS ({q})",
    "{deep}{q}{up}",
    "EXPLAIN {q}",
    "EXPLAIN (ANALYZE, VERBOSE) {q}",
    "CREATE TABLE spare_{k} AS {q}",
    "CREATE VIEW spare_{k} AS {q}",
    "SELECT to_json(w) FROM ({q}) AS w",
    "INSERT INTO orders (id, note) SELECT 100000 + {k}, (SELECT min(w::text) FROM ({q}) AS w)",
    "COPY ({q}) TO STDOUT",
    "PREPARE spare_{k} AS {q}",
    "SELECT 1; {q}",
    "WITH pad AS (SELECT 1 WHERE 1 IN ({ones})), w AS ({q}) SELECT * FROM w",
    "SELECT 1 WHERE 1 IN ({ones}); {q}",
];

impl Look {
    /// A random one.
    pub(super) fn draw(random: &mut Random) -> Self {
        let some = |random: &mut Random, bound: usize| if random.once_in(2) { random.below(bound) } else { 0 };
        let wrapper = some(random, WRAPPERS.len());
        // Long ones take their time.
        let wrapper = if wrapper >= 14 && !random.once_in(12) { 1 } else { wrapper };
        Self {
            seed: u64::try_from(random.below(1 << 30)).unwrap(),
            quoting: some(random, 6),
            qualification: some(random, 5),
            cases: random.once_in(2),
            spaces: random.once_in(3),
            prefix: some(random, PREFIXES.len()),
            wrapper,
        }
    }

    /// The same with one thing less, for each thing.
    pub(super) fn plainer(self) -> Vec<Self> {
        let all = [
            Self { wrapper: 0, ..self },
            Self { prefix: 0, ..self },
            Self { spaces: false, ..self },
            Self { cases: false, ..self },
            Self { qualification: 0, ..self },
            Self { quoting: 0, ..self },
        ];
        all.into_iter().filter(|look| *look != self).collect()
    }
}

/// One attack.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) position: Position,
    pub(super) target: usize,
    pub(super) look: Look,
    pub(super) channel: Channel,
    pub(super) number: usize,
    /// Whether it names what does not exist, in names of the same lengths.
    pub(super) absent: bool,
}

/// Names of what is hidden and what does not exist in their places.
const ABSENT: [(&str, &str); 3] = [("canary", "absent"), ("Canary", "Absent"), ("vault", "nolan")];

/// The text with names of what does not exist.
pub(super) fn absent(text: &str) -> String {
    ABSENT.iter().fold(text.to_owned(), |text, (hidden, absent)| text.replace(hidden, absent))
}

/// What is sent.
pub(super) struct Sent {
    pub(super) text: String,
    pub(super) values: Value,
    pub(super) default_schema: Option<String>,
    /// Whether the text is the name of a routine, and the values are its arguments.
    pub(super) calls: bool,
    /// The names that the caller's own text has, as the server reads them.
    pub(super) uttered: Vec<String>,
}

impl Case {
    pub(super) fn draw(random: &mut Random, positions: &[Position], targets: usize, number: usize) -> Self {
        let position = random.choose(positions).clone();
        // Most of the time the one that has everything: an index, a sequence, a trigger.
        let target = if random.once_in(3) { 0 } else { random.below(targets) };
        Self { position, target, look: Look::draw(random), channel: *random.choose(&CHANNELS), number, absent: false }
    }

    pub(super) fn write(&self, targets: &[Target], dblink: &str) -> Sent {
        let random = &mut Random::of_seed(self.look.seed);
        let target = &targets[self.target];
        let template = self.called(&self.template(random));
        // What is told by its number alone was not said.
        let named = ["{t}", "{y}", "{n}", "@name"].iter().any(|key| template.contains(key));
        let mut uttered = if named { vec![target.name.to_lowercase(), target.schema.to_owned()] } else { Vec::new() };
        let number = self.number.to_string();
        let oid = target.oid.to_string();
        if let Some(routine) = self.position.text.strip_prefix('!') {
            let mut name = self.name(target, random, true);
            if self.look.spaces && !self.absent {
                name = oid;
            }
            let value = if routine.ends_with("_all") { json!([name]) } else { json!(name) };
            let uttered = vec![target.name.to_lowercase(), target.schema.to_owned()];
            let default_schema = (self.look.qualification == 4).then(|| self.called(target.schema));
            return Sent {
                text: routine.to_owned(),
                values: json!({"t": value}),
                default_schema,
                calls: true,
                uttered,
            };
        }
        let within = self.name(target, &mut random.clone(), true);
        let mut text = String::new();
        let mut rest = template.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (key, behind) = after.split_once('}').unwrap_or((after, ""));
            text.push_str(before);
            match key {
                "t" | "y" => text.push_str(&self.name(target, random, false)),
                "n" => text.push_str(&within),
                "o" => text.push_str(&oid),
                "c" => text.push_str(&self.called("canary_column_zq7")),
                "k" => text.push_str(&number),
                "d" => text.push_str(dblink),
                "s" | "i" | "f" => {
                    let name = match (key, self.look.seed % 3) {
                        ("s", _) => "canary_sequence_zq7",
                        ("i", _) => "canary_index_zq7",
                        (_, 0) => "vault_zq7.canary_inner_function_zq7",
                        _ => "canary_function_zq7",
                    };
                    uttered.push(name.to_owned());
                    let folded = name.starts_with("vault") || !template.contains(&format!("'{{{key}}}'"));
                    text.push_str(&if folded { self.ident_path(name, random) } else { self.called(name) });
                }
                other => {
                    // A brace of the statement's own.
                    text.push_str(&format!("{{{other}}}"));
                }
            }
            rest = behind;
        }
        text.push_str(rest);
        let values = if text.contains("@name") { json!({"@name": within}) } else { json!({}) };
        let by_default = (self.look.qualification == 4).then(|| self.called(target.schema));
        let default_schema = self.position.default_schema.as_ref().map(|schema| self.called(schema)).or(by_default);
        uttered.extend(default_schema.clone());
        Sent { text, values, default_schema, calls: false, uttered }
    }

    fn called(&self, text: &str) -> String {
        if self.absent { absent(text) } else { text.to_owned() }
    }

    /// The position's text with what stands in front, around and between.
    fn template(&self, random: &mut Random) -> String {
        let look = self.look;
        let mut text = self.position.text.clone();
        let query = ["SELECT", "TABLE", "WITH", "VALUES", "("].iter().any(|word| text.starts_with(word));
        let plain = !["$", "--", "/*", "\\", ";", " INTO "].iter().any(|mark| text.contains(mark));
        if plain && (look.cases || look.spaces) {
            text = decorate(&text, look, random);
        }
        if look.wrapper > 0 && query && plain {
            let ones = || "1,".repeat(26_000) + "1";
            text = WRAPPERS[look.wrapper].replace("{q}", &text);
            text = if text.contains("{ones}") { text.replace("{ones}", &ones()) } else { text };
            text = text.replace("{deep}", &"SELECT * FROM (".repeat(60));
            text = text.replace("{up}", &") AS deep".repeat(60));
        }
        format!("{}{text}", PREFIXES[look.prefix])
    }

    fn name(&self, target: &Target, random: &mut Random, within_text: bool) -> String {
        let database = ["walls", "shop"][self.look.qualification.saturating_sub(2).min(1)];
        let mut parts = match self.look.qualification {
            1 => vec![target.schema],
            2 | 3 if !within_text => vec![database, target.schema],
            _ if target.schema != "public" && self.look.qualification != 4 => vec![target.schema],
            _ => Vec::new(),
        };
        parts.push(target.name);
        let parts: Vec<String> = parts.iter().map(|part| self.ident(part, random, within_text)).collect();
        parts.join(if self.look.spaces && !within_text {
            [".", " . ", "./**/", " /* . */ ."][random.below(4)]
        } else {
            "."
        })
    }

    fn ident_path(&self, path: &str, random: &mut Random) -> String {
        path.split('.').map(|part| self.ident(part, random, false)).collect::<Vec<_>>().join(".")
    }

    fn ident(&self, name: &str, random: &mut Random, within_text: bool) -> String {
        let name = &self.called(name);
        let folds = name.chars().all(|each| !each.is_ascii_uppercase());
        match self.look.quoting {
            2 | 3 if !within_text => {
                let mark = if self.look.quoting == 2 { '\\' } else { '!' };
                let escaped: String = name
                    .chars()
                    .map(|each| match random.below(3) {
                        0 => format!("{mark}{:04x}", u32::from(each)),
                        1 => format!("{mark}+{:06X}", u32::from(each)),
                        _ => each.to_string(),
                    })
                    .collect();
                let clause = if mark == '!' { " UESCAPE '!'" } else { "" };
                format!("{}&\"{escaped}\"{clause}", if random.once_in(2) { 'U' } else { 'u' })
            }
            4 if !within_text => format!("[{name}]"),
            5 if name.len() == 63 => format!("\"{name}överlong\""),
            0 | 5 if folds => {
                let fold =
                    |each: char| if self.look.cases && random.once_in(2) { each.to_ascii_uppercase() } else { each };
                name.chars().map(fold).collect()
            }
            _ => format!("\"{name}\""),
        }
    }
}

/// Keywords in random case, and anything that separates for the spaces between them; what is quoted
/// or a placeholder stays.
fn decorate(text: &str, look: Look, random: &mut Random) -> String {
    let between = ["\n", "\t", "  ", "/**/", "/* /* ' */ */", " -- \"\n", "\u{c}", " "];
    let mut out = String::new();
    for (at, piece) in text.split('\'').enumerate() {
        if at > 0 {
            out.push('\'');
        }
        if at % 2 == 1 {
            out.push_str(piece);
            continue;
        }
        for (nth, word) in piece.split(' ').enumerate() {
            if nth > 0 {
                out.push_str(if look.spaces { between[random.below(between.len())] } else { " " });
            }
            if look.cases && word.len() > 1 && word.chars().all(|each| each.is_ascii_uppercase()) {
                out.extend(word.chars().map(|each| if random.once_in(2) { each.to_ascii_lowercase() } else { each }));
            } else {
                out.push_str(word);
            }
        }
    }
    out
}
