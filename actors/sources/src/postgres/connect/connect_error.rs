//! Why a session could not be opened: a message for callers that names no host, user or database, and a remedy for
//! the administrator. Each host's own error stays in the cause, for the log.

use std::io;

use tokio_postgres::error::SqlState;

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The user or the password is wrong.
    Login,
    /// The server requires a password, and none is configured.
    NoPassword,
    /// `pg_hba.conf` has no entry for this user, database, client address and encryption.
    NotAdmitted,
    /// `pg_hba.conf` has no entry for a session without TLS; the server may want TLS.
    WantsTls,
    /// The database does not exist.
    Database,
    /// The user may not connect to the database.
    NoConnect,
    /// TLS is required, and the server does not support it.
    NoTls,
    /// The server's certificate is by an authority that is not trusted.
    Authority,
    /// The server's certificate is for another host.
    CertificateName,
    /// The server's certificate has ended, or does not hold yet.
    CertificateTime,
    /// TLS could not be agreed upon for another reason.
    Tls,
    /// The host's name cannot be resolved.
    Name,
    /// No server listens at the address.
    NobodyListens,
    /// The Unix socket does not exist, or may not be used.
    Socket,
    /// The server does not answer.
    Silent,
    /// The server allows no further session.
    Full,
    /// The server starts or stops.
    Starting,
    /// No host satisfies `target_session_attrs`.
    Unsuited,
    /// Anything else.
    Other,
}

impl Fault {
    /// Returns the fault for the source's `code`, or for the text of a library, which distinguishes its errors only
    /// by text.
    pub(crate) fn from_code(code: Option<&SqlState>, said: &str) -> Self {
        let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
        match code.map(SqlState::code) {
            Some("28000") if says(&["no encryption", "SSL off"]) => Self::WantsTls,
            Some("28000") if says(&["pg_hba.conf"]) => Self::NotAdmitted,
            Some(code) if code.starts_with("28") => Self::Login,
            Some("3D000") => Self::Database,
            Some("42501") => Self::NoConnect,
            Some("53300") => Self::Full,
            Some(code) if code.starts_with("57P") => Self::Starting,
            None if says(&["password missing"]) => Self::NoPassword,
            None if says(&["server does not support TLS"]) => Self::NoTls,
            None if says(&["UnknownIssuer", "CaUsedAsEndEntity", "SelfSigned"]) => Self::Authority,
            None if says(&["NotValidForName", "not valid for name"]) => Self::CertificateName,
            None if says(&["Expired", "expired", "NotValidYet", "not valid yet"]) => Self::CertificateTime,
            None if says(&["TLS handshake"]) => Self::Tls,
            _ => Self::Other,
        }
    }

    /// The fault of a socket that could not be opened, which is one of the file system or of the network.
    pub(crate) fn of_socket(error: &io::Error, in_file_system: bool) -> Self {
        match error.kind() {
            _ if in_file_system => Self::Socket,
            io::ErrorKind::ConnectionRefused => Self::NobodyListens,
            io::ErrorKind::TimedOut
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown => Self::Silent,
            _ => Self::Other,
        }
    }

    /// Returns the message for callers.
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::Login => "the database refused the user or the password of this connection",
            Self::NoPassword => "the database asks for a password, and this connection has none",
            Self::NotAdmitted => "the database does not admit this connection's user from here",
            Self::WantsTls => "the database does not admit this connection's user from here without TLS",
            Self::Database => "the server has no database of the name that this connection is configured with",
            Self::NoConnect => "the database does not let this connection's user in",
            Self::NoTls => "this connection asks for TLS, and the database has none",
            Self::Authority | Self::CertificateName | Self::CertificateTime => {
                "the database's certificate is not one that this connection trusts"
            }
            Self::Tls => "no TLS could be negotiated with the database",
            Self::Name => "the name of the database's host cannot be found",
            Self::NobodyListens | Self::Socket => "nothing listens at the database's address",
            Self::Silent => "the database's host does not answer",
            Self::Full => "the database has no room for another session",
            Self::Starting => "the database is starting up or shutting down",
            Self::Unsuited => "no host of this connection is what its target_session_attrs asks for",
            Self::Other => "the source is unavailable",
        }
    }

    /// Returns what the administrator can do; `None` if the fault passes by itself.
    pub(crate) const fn remedy(self) -> Option<&'static str> {
        Some(match self {
            Self::Login => {
                "an administrator has to correct the user or the password, in url or in what password_file or \
                 password_command gives"
            }
            Self::NoPassword => {
                "an administrator has to write it into url as user:password@host, or set password_file or \
                 password_command"
            }
            Self::NotAdmitted => "an administrator has to add a line for it to the server's pg_hba.conf",
            Self::WantsTls => {
                "an administrator has to write sslmode=require or a stricter mode into url where the server wants TLS, \
                 or add a line for the user to the server's pg_hba.conf"
            }
            Self::Database => {
                "an administrator has to correct the name behind the last / of url, or create the database; names keep \
                 their case"
            }
            Self::NoConnect => "an administrator has to run GRANT CONNECT ON DATABASE for the user",
            Self::NoTls => {
                "an administrator has to turn ssl on at the server, or write sslmode=prefer or disable into url"
            }
            Self::Authority => {
                "an administrator has to name the authority's certificate in url as sslrootcert=FILE; sslmode=require \
                 without sslrootcert takes any certificate"
            }
            Self::CertificateName => {
                "an administrator has to write the host in url as the certificate names it; sslmode=verify-ca does not \
                 compare names"
            }
            Self::CertificateTime => {
                "an administrator has to check this machine's clock (portico doctor), and renew the certificate if it \
                 has expired"
            }
            Self::Tls => {
                "an administrator has to compare sslmode and ssl_min_protocol_version in url with the server's ssl"
            }
            Self::Name => {
                "an administrator has to correct the host in url; a password with @, /, ? or # in it is written with \
                 %40, %2F, %3F or %23"
            }
            Self::NobodyListens => {
                "an administrator has to start the database, or correct host and port in url; in a container localhost \
                 is the container itself, and the database has the name of its own container or host.docker.internal"
            }
            Self::Socket => "an administrator has to correct the folder of the socket in url, or start the database",
            Self::Silent => {
                "an administrator has to correct host and port in url, or open the firewall; connect_timeout says how \
                 long to wait"
            }
            Self::Full => {
                "an administrator has to lower pool of the connection, or raise max_connections of the server; more \
                 sessions are tried in a moment"
            }
            Self::Starting | Self::Unsuited | Self::Other => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_fault_names_no_place() {
        let of = |code: &str, said| Fault::from_code(Some(&SqlState::from_code(code)), said);
        assert_eq!(of("28P01", "password authentication failed for user \"app\""), Fault::Login);
        assert_eq!(of("28000", "role \"app\" does not exist"), Fault::Login);
        assert_eq!(of("28000", "no pg_hba.conf entry for host \"10.0.0.1\", no encryption"), Fault::WantsTls);
        assert_eq!(of("28000", "no pg_hba.conf entry for host \"10.0.0.1\", SSL encryption"), Fault::NotAdmitted);
        assert_eq!(of("3D000", "database \"sales\" does not exist"), Fault::Database);
        assert_eq!(of("57P03", "the database system is starting up"), Fault::Starting);
        let tls = |said| Fault::from_code(None, said);
        assert_eq!(tls("invalid peer certificate: UnknownIssuer"), Fault::Authority);
        assert_eq!(tls("certificate not valid for name \"db\""), Fault::CertificateName);
        assert_eq!(tls("invalid peer certificate: certificate not valid yet"), Fault::CertificateTime);
    }
}
