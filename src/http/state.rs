//! The service behind a request. Middleware reads it here: as an argument, each middleware would extract it by a
//! future of its own.

use actix_web::dev::ServiceRequest;
use actix_web::error::ErrorInternalServerError;
use actix_web::web::Data;

use crate::app::App;

/// The service that `request` came to.
///
/// # Errors
/// The route table was built without it.
pub(in crate::http) fn app(request: &ServiceRequest) -> actix_web::Result<Data<App>> {
    request.app_data::<Data<App>>().cloned().ok_or_else(|| ErrorInternalServerError("bug: a route has no state"))
}
