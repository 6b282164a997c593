//! Pages for people: signing in, giving clients access, managing tokens. Permissions are decided behind the
//! mailbox; here are forms, cookies and pages.

mod account;
mod applications;
mod authorization_request;
mod authorize;
mod browser;
mod connect;
mod consent;
pub(in crate::http) mod front;
mod page;
mod sign_in;
mod users;
mod view;

use crate::http::middleware::body::Limit;
use crate::http::table::Table;
use crate::http::{error, policy};

/// How large a form may be.
const FORM: Limit = Limit::Form(64 * 1024);

/// The pages' part of the route table.
pub(super) fn routes(table: &mut Table<'_>) {
    let read = Limit::None;
    table
        .route(&policy::FRONT, "/", error::READ, read, |page| page.get(front::get))
        .scope(&policy::AUTHORIZE, "/authorize", |authorize| {
            authorize.route("", "GET, HEAD, POST", FORM, |page| page.get(authorize::get).post(authorize::post)).route(
                "/decision",
                "POST",
                FORM,
                |form| form.post(consent::decide),
            )
        })
        .route(&policy::SIGN_IN, "/sign-in", "GET, HEAD, POST", FORM, |page| page.get(sign_in::get).post(sign_in::post))
        .route(&policy::SIGN_IN, "/sign-out", "POST", FORM, |form| form.post(sign_in::out))
        .route(&policy::PAGES, "/account", error::READ, read, |page| page.get(account::get))
        .scope(&policy::CHANGES, "/account", |account| {
            account
                .route("/tokens", "POST", FORM, |form| form.post(account::create))
                .route("/tokens/revoke", "POST", FORM, |form| form.post(account::revoke))
                .route("/applications/revoke", "POST", FORM, |form| form.post(account::revoke_application))
        })
        .route(&policy::PAGES, "/users", error::READ, read, |page| page.get(users::get))
        .route(&policy::PAGES, "/users/applications", error::READ, read, |page| page.get(applications::get))
        .scope(&policy::CHANGES, "/users", |users| {
            users
                .route("/accounts", "POST", FORM, |form| form.post(users::create_account))
                .route("/accounts/change", "POST", FORM, |form| form.post(users::change_account))
                .route("/people", "POST", FORM, |form| form.post(users::add_user))
                .route("/people/change", "POST", FORM, |form| form.post(users::change_user))
                .route("/applications/revoke", "POST", FORM, |form| form.post(applications::revoke))
        })
        .scope(&policy::PUBLIC, "/assets", |assets| {
            assets
                .read("/portico.css", |file| file.get(page::stylesheet))
                .read("/icon.svg", |file| file.get(page::icon))
        });
}
