//! Which clients and issuers are known, and how they become so.

mod client_documents;
mod issuers;
mod registrations;
