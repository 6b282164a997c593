//! Why a credential was refused.

/// Why a token was refused: for the log and the tests. Callers only learn that a genuine token is for another
/// resource or has no scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Malformed,
    UnknownKey,
    WrongAlgorithm,
    CriticalHeader,
    WrongSignature,
    WrongIssuer,
    WrongAudience,
    Expired,
    NotYetValid,
    NoScope,
    WrongType,
    RetiredKey,
    BoundToKey,
    LastsTooLong,
    Misleading,
    UnverifiedEmail,
    KeysTooOld,
    /// It may be genuine: which keys its issuer has is not known.
    KeysAway,
    Revoked,
    UnknownAccount,
    UnknownGrant,
    UnknownToken,
    AnotherUser,
    RevokedToken,
    DisabledUser,
    DisabledSubject,
}

impl Refusal {
    /// Returns true if the credential was valid once, and so is not a guess.
    pub(crate) const fn was_genuine(self) -> bool {
        matches!(
            self,
            Self::Expired
                | Self::NotYetValid
                | Self::Revoked
                | Self::RevokedToken
                | Self::DisabledUser
                | Self::DisabledSubject
                | Self::WrongAudience
                | Self::NoScope
                | Self::KeysTooOld
        )
    }

    /// Returns true if the token's signature was verified before it was refused: its claims are then genuine.
    pub(crate) const fn is_behind_signature(self) -> bool {
        matches!(
            self,
            Self::Expired
                | Self::NotYetValid
                | Self::NoScope
                | Self::WrongAudience
                | Self::WrongType
                | Self::RetiredKey
                | Self::BoundToKey
                | Self::LastsTooLong
                | Self::UnverifiedEmail
                | Self::KeysTooOld
                | Self::Revoked
                | Self::UnknownAccount
                | Self::UnknownGrant
                | Self::DisabledSubject
        )
    }

    /// Returns true if the store may just have been changed so that the credential is valid. A wrong name is
    /// treated like a wrong secret: the time of the answer must not distinguish them.
    pub(crate) const fn may_be_behind(self) -> bool {
        matches!(
            self,
            Self::UnknownKey
                | Self::UnknownAccount
                | Self::UnknownGrant
                | Self::UnknownToken
                | Self::AnotherUser
                | Self::DisabledUser
        )
    }

    /// Whether an issuer's newer keys may change the judgement.
    pub(crate) const fn is_for_want_of_a_key(self) -> bool {
        matches!(self, Self::UnknownKey | Self::KeysTooOld | Self::KeysAway)
    }

    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::Malformed => "not a token of ours",
            Self::UnknownKey => "signed with a key that is not in use",
            Self::WrongAlgorithm => "the token's algorithm is not its key's",
            Self::CriticalHeader => "the token demands a header that is not understood",
            Self::WrongSignature => "wrong signature",
            Self::WrongIssuer => "another issuer's token",
            Self::WrongAudience => "a token for another audience",
            Self::Expired => "expired",
            Self::NotYetValid => "not yet valid",
            Self::NoScope => "no scope that is known here",
            Self::WrongType => "a JWT, but not an access token",
            Self::RetiredKey => "signed with a key after it was retired",
            Self::BoundToKey => "bound to its holder's key (cnf), which is not checked here",
            Self::LastsTooLong => "it lasts longer than max_age of its issuer allows",
            Self::Misleading => "a text with control characters, or with characters that reverse its direction",
            Self::UnverifiedEmail => "its issuer does not say that the e-mail address was verified (email_verified)",
            Self::KeysTooOld => "its issuer's keys could not be fetched for a day",
            Self::KeysAway => "its issuer's keys could not be fetched, and none that is known fits it",
            Self::Revoked => "the access token was revoked",
            Self::UnknownAccount => "the user or service account is unknown, removed or disabled",
            Self::UnknownGrant => "what a person granted has expired or was revoked",
            Self::UnknownToken => "the personal access token is unknown",
            Self::RevokedToken => "the personal access token was revoked",
            Self::DisabledSubject => "the subject of the other issuer is disabled here",
            Self::DisabledUser => "the user of the personal access token is disabled",
            Self::AnotherUser => "the personal access token belongs to another user",
        }
    }
}
