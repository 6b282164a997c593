//! The lists that a client may keep and is told about when they change.

/// A list that a client may keep and has to be told about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// `tools/list`.
    Tools,
    /// `resources/list`, and what its resources hold.
    Resources,
    /// `prompts/list`.
    Prompts,
}

impl ListKind {
    /// All of them, in the order of their [`Digests`].
    pub const ALL: [Self; 3] = [Self::Tools, Self::Resources, Self::Prompts];

    /// The member of `subscriptions/listen` that asks for it.
    pub const fn subscription(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Resources => "resourcesListChanged",
            Self::Prompts => "promptsListChanged",
        }
    }

    /// The notification that tells of its change.
    pub fn notification(self) -> String {
        format!("notifications/{}/list_changed", self.capability())
    }

    /// The server capability whose `listChanged` says that it is told of.
    pub const fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
        }
    }
}

/// The digest of a list that nobody can read now: it is no change, and what is read next is
/// compared with what was told before.
pub const UNKNOWN: u64 = 0;

/// What each of [`ListKind::ALL`] holds for one caller, as one number each.
pub type Digests = [u64; ListKind::ALL.len()];
