//! Pages for people: signing in, granting access to clients, looking after tokens. What is allowed
//! is decided behind the mailbox; here are forms, cookies and pages.

mod account;
mod authorize;
mod browser;
mod consent;
pub(super) mod form;
mod page;
pub(super) mod register;
mod sign_in;
mod users;

use actix_web::web::{self, ServiceConfig};

use super::error;

/// The pages' part of the route table.
pub(super) fn routes(config: &mut ServiceConfig) {
    config
        .service(web::resource("/authorize").get(authorize::get).post(authorize::post))
        .service(error::only(web::resource("/authorize/decision").post(consent::decide), "POST"))
        .service(error::only(web::resource("/oauth/register").post(register::register), "POST"))
        .service(web::resource("/sign-in").get(sign_in::get).post(sign_in::post))
        .service(error::only(web::resource("/sign-out").post(sign_in::out), "POST"))
        .service(error::only(web::resource("/account").get(account::get), error::READ))
        .service(error::only(web::resource("/account/tokens").post(account::create), "POST"))
        .service(error::only(web::resource("/account/tokens/revoke").post(account::revoke), "POST"))
        .service(error::only(web::resource("/account/applications/revoke").post(account::revoke_application), "POST"))
        .service(error::only(web::resource("/users").get(users::get), error::READ))
        .service(error::only(web::resource("/users/accounts").post(users::create_account), "POST"))
        .service(error::only(web::resource("/users/accounts/change").post(users::change_account), "POST"))
        .service(error::only(web::resource("/users/people").post(users::add_user), "POST"))
        .service(error::only(web::resource("/users/people/change").post(users::change_user), "POST"))
        .service(error::only(web::resource("/assets/portico.css").get(page::stylesheet), error::READ))
        .service(error::only(web::resource("/assets/icon.svg").get(page::icon), error::READ));
}
