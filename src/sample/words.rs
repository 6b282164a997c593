//! The shop's vocabulary: people, places and goods. Names come with a spelling for e-mail
//! addresses, which all lie in domains that RFC 2606 keeps free.

/// Where customers live, and what they are called there.
pub(super) struct Region {
    pub(super) country: &'static str,
    /// ISO 4217, with the worth of one euro in ten-thousandths of the currency.
    pub(super) currency: (&'static str, i64),
    pub(super) cities: &'static [&'static str],
    pub(super) first_names: &'static [(&'static str, &'static str)],
    pub(super) last_names: &'static [(&'static str, &'static str)],
    pub(super) notes: &'static [&'static str],
}

/// What one euro is worth in euro, in ten-thousandths.
pub(super) const ONE: i64 = 10_000;

/// Domains of the customers' addresses.
pub(super) const DOMAINS: &[&str] = &["example.com", "example.net", "example.org"];

/// The regions; those nearer the beginning have more customers.
pub(super) const REGIONS: &[Region] = &[
    Region {
        country: "Germany",
        currency: ("EUR", ONE),
        cities: &["Berlin", "Hamburg", "München", "Köln", "Düsseldorf", "Leipzig"],
        first_names: &[
            ("Jürgen", "juergen"),
            ("Sabine", "sabine"),
            ("Lukas", "lukas"),
            ("Käthe", "kaethe"),
            ("Björn", "bjoern"),
            ("Annika", "annika"),
        ],
        last_names: &[
            ("Müller", "mueller"),
            ("Schäfer", "schaefer"),
            ("Weiß", "weiss"),
            ("Krüger", "krueger"),
            ("Hoffmann", "hoffmann"),
            ("Jäger", "jaeger"),
        ],
        notes: &["Bitte beim Nachbarn abgeben – Klingel „Groß“.", "Als Geschenk verpacken, danke schön!"],
    },
    Region {
        country: "Poland",
        currency: ("PLN", 42_815),
        cities: &["Warszawa", "Kraków", "Łódź", "Wrocław", "Gdańsk", "Poznań"],
        first_names: &[
            ("Łukasz", "lukasz"),
            ("Małgorzata", "malgorzata"),
            ("Paweł", "pawel"),
            ("Agnieszka", "agnieszka"),
            ("Michał", "michal"),
            ("Żaneta", "zaneta"),
        ],
        last_names: &[
            ("Wiśniewski", "wisniewski"),
            ("Wójcik", "wojcik"),
            ("Kamiński", "kaminski"),
            ("Dąbrowska", "dabrowska"),
            ("Zieliński", "zielinski"),
            ("Źródlak", "zrodlak"),
        ],
        notes: &["Proszę dzwonić przed dostawą.", "Zostawić u dozorcy, bramka nr 7."],
    },
    Region {
        country: "France",
        currency: ("EUR", ONE),
        cities: &["Paris", "Lyon", "Marseille", "Orléans", "Besançon", "Saint-Étienne"],
        first_names: &[
            ("Chloé", "chloe"),
            ("François", "francois"),
            ("Anaïs", "anais"),
            ("Jérôme", "jerome"),
            ("Zoë", "zoe"),
            ("Mathieu", "mathieu"),
        ],
        last_names: &[
            ("Lefèvre", "lefevre"),
            ("Dupont", "dupont"),
            ("Garçon", "garcon"),
            ("Bérenger", "berenger"),
            ("Moreau", "moreau"),
            ("Noël", "noel"),
        ],
        notes: &["Code de l'immeuble : 25B7.", "C'est un cadeau, sans facture s'il vous plaît."],
    },
    Region {
        country: "Spain",
        currency: ("EUR", ONE),
        cities: &["Madrid", "Barcelona", "Málaga", "Córdoba", "A Coruña", "Cádiz"],
        first_names: &[
            ("José", "jose"),
            ("María", "maria"),
            ("Íñigo", "inigo"),
            ("Lucía", "lucia"),
            ("Álvaro", "alvaro"),
            ("Begoña", "begona"),
        ],
        last_names: &[
            ("García", "garcia"),
            ("Núñez", "nunez"),
            ("Martínez", "martinez"),
            ("Ibáñez", "ibanez"),
            ("Peña", "pena"),
            ("Sánchez", "sanchez"),
        ],
        notes: &["Entregar por la mañana, ¡gracias!", "¿Puede ir sin plástico?"],
    },
    Region {
        country: "United States",
        currency: ("USD", 10_824),
        cities: &["New York", "Chicago", "Seattle", "Austin", "San José", "Boston"],
        first_names: &[
            ("Olivia", "olivia"),
            ("Liam", "liam"),
            ("Renée", "renee"),
            ("Noah", "noah"),
            ("Ava", "ava"),
            ("Andre", "andre"),
        ],
        last_names: &[
            ("Johnson", "johnson"),
            ("O'Brien", "obrien"),
            ("Nguyễn", "nguyen"),
            ("Smith", "smith"),
            ("Muñoz", "munoz"),
            ("Washington", "washington"),
        ],
        notes: &["Leave it on the porch, beware of the dog.", "Gift receipt only, please."],
    },
    Region {
        country: "Japan",
        currency: ("JPY", 1_635_200),
        cities: &["東京", "大阪", "京都", "札幌", "福岡", "横浜"],
        first_names: &[
            ("美咲", "misaki"),
            ("陽菜", "hina"),
            ("蓮", "ren"),
            ("大翔", "hiroto"),
            ("さくら", "sakura"),
            ("健太", "kenta"),
        ],
        last_names: &[
            ("佐藤", "sato"),
            ("鈴木", "suzuki"),
            ("高橋", "takahashi"),
            ("田中", "tanaka"),
            ("渡辺", "watanabe"),
            ("伊藤", "ito"),
        ],
        notes: &["宅配ボックスに入れてください。", "プレゼント用に包装をお願いします🎁"],
    },
    Region {
        country: "United Kingdom",
        currency: ("GBP", 8_466),
        cities: &["London", "Leeds", "Glasgow", "Cardiff", "Belfast", "Bath"],
        first_names: &[
            ("Amelia", "amelia"),
            ("Harry", "harry"),
            ("Siân", "sian"),
            ("Callum", "callum"),
            ("Priya", "priya"),
            ("Zoë", "zoe"),
        ],
        last_names: &[
            ("Taylor", "taylor"),
            ("Llewellyn", "llewellyn"),
            ("MacDonald", "macdonald"),
            ("Patel", "patel"),
            ("Ó Néill", "oneill"),
            ("Wright", "wright"),
        ],
        notes: &["Please ring twice — the bell is faint.", "Leave with the neighbour at no. 12."],
    },
    Region {
        country: "Sweden",
        currency: ("SEK", 114_370),
        cities: &["Stockholm", "Göteborg", "Malmö", "Umeå", "Västerås", "Örebro"],
        first_names: &[
            ("Åsa", "asa"),
            ("Björn", "bjorn"),
            ("Märta", "marta"),
            ("Göran", "goran"),
            ("Elin", "elin"),
            ("Håkan", "hakan"),
        ],
        last_names: &[
            ("Åkesson", "akesson"),
            ("Sjöberg", "sjoberg"),
            ("Lindström", "lindstrom"),
            ("Öberg", "oberg"),
            ("Nilsson", "nilsson"),
            ("Källström", "kallstrom"),
        ],
        notes: &["Ställ paketet i förrådet, tack."],
    },
    Region {
        country: "Denmark",
        currency: ("DKK", 74_590),
        cities: &["København", "Aarhus", "Odense", "Aalborg", "Helsingør", "Tønder"],
        first_names: &[
            ("Søren", "soren"),
            ("Mette", "mette"),
            ("Jørgen", "jorgen"),
            ("Kirstine", "kirstine"),
            ("Æskil", "aeskil"),
            ("Bodil", "bodil"),
        ],
        last_names: &[
            ("Sørensen", "sorensen"),
            ("Møller", "moller"),
            ("Kjær", "kjaer"),
            ("Østergaard", "ostergaard"),
            ("Holm", "holm"),
            ("Nørgård", "norgard"),
        ],
        notes: &["Må gerne stilles ved bagdøren."],
    },
    Region {
        country: "Greece",
        currency: ("EUR", ONE),
        cities: &["Αθήνα", "Θεσσαλονίκη", "Πάτρα", "Ηράκλειο"],
        first_names: &[("Ελένη", "eleni"), ("Γιώργος", "giorgos"), ("Σοφία", "sofia"), ("Νίκος", "nikos")],
        last_names: &[("Παπαδόπουλος", "papadopoulos"), ("Ιωάννου", "ioannou"), ("Οικονόμου", "oikonomou")],
        notes: &["Καλέστε πριν την παράδοση."],
    },
    Region {
        country: "Brazil",
        currency: ("BRL", 58_930),
        cities: &["São Paulo", "Brasília", "Belém", "Curitiba", "Goiânia"],
        first_names: &[("João", "joao"), ("Conceição", "conceicao"), ("Luís", "luis"), ("Antônia", "antonia")],
        last_names: &[
            ("Gonçalves", "goncalves"),
            ("Araújo", "araujo"),
            ("Magalhães", "magalhaes"),
            ("Simões", "simoes"),
        ],
        notes: &["Deixar na portaria, obrigado."],
    },
    Region {
        country: "Czechia",
        currency: ("CZK", 251_240),
        cities: &["Praha", "Brno", "Plzeň", "Olomouc", "České Budějovice"],
        first_names: &[("Jiří", "jiri"), ("Kateřina", "katerina"), ("Šárka", "sarka"), ("Ondřej", "ondrej")],
        last_names: &[("Dvořák", "dvorak"), ("Svobodová", "svobodova"), ("Černý", "cerny"), ("Růžička", "ruzicka")],
        notes: &["Prosím, nezvoňte — spí dítě."],
    },
];

/// A category of the second level, and what is in it.
pub(super) struct Shelf {
    pub(super) name: &'static str,
    pub(super) goods: &'static [&'static str],
    pub(super) materials: &'static [&'static str],
    /// The cheapest and the dearest price, in cents.
    pub(super) prices: (i64, i64),
    /// The lightest and the heaviest piece, in grams.
    pub(super) weights: (i64, i64),
    /// Sizes, where the goods come in some.
    pub(super) sizes: &'static [&'static str],
}

const CLOTHES: &[&str] = &["XS", "S", "M", "L", "XL"];

/// The categories of the first level with those of the second.
pub(super) const DEPARTMENTS: &[(&str, &[Shelf])] = &[
    (
        "Clothing",
        &[
            Shelf {
                name: "Jackets",
                goods: &["Parka", "Windbreaker", "Down Jacket"],
                materials: &["waxed cotton", "recycled nylon", "loden"],
                prices: (6_900, 24_900),
                weights: (400, 1_400),
                sizes: CLOTHES,
            },
            Shelf {
                name: "Knitwear",
                goods: &["Cardigan", "Pullover", "Scarf", "Beanie"],
                materials: &["merino", "lambswool", "cotton", "mohair"],
                prices: (1_900, 11_900),
                weights: (90, 700),
                sizes: CLOTHES,
            },
            Shelf {
                name: "Shoes",
                goods: &["Hiking Boot", "Sneaker", "Sandal"],
                materials: &["leather", "canvas", "suede"],
                prices: (4_500, 18_900),
                weights: (350, 1_300),
                sizes: &["38", "40", "42", "44"],
            },
        ],
    ),
    (
        "Outdoor",
        &[
            Shelf {
                name: "Tents",
                goods: &["Tunnel Tent", "Dome Tent", "Tarp"],
                materials: &["ripstop nylon", "polycotton", "canvas"],
                prices: (5_900, 59_900),
                weights: (700, 6_500),
                sizes: &[],
            },
            Shelf {
                name: "Backpacks",
                goods: &["Daypack", "Trekking Pack", "Duffel"],
                materials: &["canvas", "recycled nylon", "leather"],
                prices: (3_900, 21_900),
                weights: (400, 2_300),
                sizes: &["20 l", "35 l", "60 l"],
            },
            Shelf {
                name: "Camp Kitchen",
                goods: &["Stove", "Kettle", "Mess Tin", "Spork"],
                materials: &["steel", "titanium", "enamel"],
                prices: (590, 12_900),
                weights: (20, 900),
                sizes: &[],
            },
        ],
    ),
    (
        "Home",
        &[
            Shelf {
                name: "Lighting",
                goods: &["Desk Lamp", "Lantern", "Pendant Lamp"],
                materials: &["oak", "brass", "paper", "steel"],
                prices: (1_900, 18_900),
                weights: (300, 3_200),
                sizes: &[],
            },
            Shelf {
                name: "Textiles",
                goods: &["Blanket", "Cushion", "Towel"],
                materials: &["linen", "cotton", "wool"],
                prices: (1_200, 8_900),
                weights: (200, 1_800),
                sizes: &[],
            },
            Shelf {
                name: "Kitchen",
                goods: &["Teapot", "Café Mug", "Chopping Board", "Jar"],
                materials: &["stoneware", "beech", "porcelain", "glass"],
                prices: (790, 6_900),
                weights: (150, 2_100),
                sizes: &[],
            },
        ],
    ),
    (
        "Stationery",
        &[
            Shelf {
                name: "Notebooks",
                goods: &["Notebook", "Sketchbook", "Planner"],
                materials: &["linen cover", "recycled paper", "leather cover"],
                prices: (490, 3_900),
                weights: (90, 800),
                sizes: &["A4", "A5", "A6"],
            },
            Shelf {
                name: "Pens",
                goods: &["Fountain Pen", "Pencil Set", "Brush Pen"],
                materials: &["brass", "cedar", "resin"],
                prices: (250, 14_900),
                weights: (8, 120),
                sizes: &[],
            },
            Shelf {
                name: "Paper",
                goods: &["Washi Roll", "Letter Set", "Card Box"],
                materials: &["mulberry paper", "cotton paper", "kraft paper"],
                prices: (350, 2_900),
                weights: (40, 600),
                sizes: &[],
            },
        ],
    ),
];

/// First words of product names.
pub(super) const STYLES: &[&str] = &[
    "Alpine", "Nordic", "Coastal", "Évora", "Classic", "Tōkai", "Field", "Björk", "Harbour", "Aurora", "Siesta",
    "Zürich",
];
/// Colours in the attributes.
pub(super) const COLOURS: &[&str] = &["navy", "moss", "rust", "sand", "charcoal", "écru", "saffron", "teal"];
/// How people pay, the usual ways more than once.
pub(super) const METHODS: &[&str] = &["card", "card", "card", "card", "paypal", "paypal", "transfer", "voucher"];
