//! What people and clients do, with a store in PostgreSQL.

#[path = "../signing_in/authorize.rs"]
mod authorize;
#[path = "../credentials/doors.rs"]
mod doors;
#[path = "../credentials/endpoints.rs"]
mod endpoints;
#[path = "../signing_in/people.rs"]
mod people;
#[path = "../credentials/resources.rs"]
mod resources;

/// The services of the other tests, each with a database for its store.
mod fixture {
    use crate::support::app::{STORE, Shared, TestApp};
    use crate::support::fixture;
    use crate::support::postgres::TestPostgres;

    async fn with_store(start: impl Future<Output = TestApp>) -> TestApp {
        let url = TestPostgres::shared().database("store").await;
        STORE.scope(Shared { url, callers: None }, start).await
    }

    pub(super) async fn on_sqlite() -> TestApp {
        with_store(fixture::on_sqlite()).await
    }

    pub(super) async fn limited(limits: &str) -> TestApp {
        with_store(fixture::limited(limits)).await
    }

    pub(super) async fn two_connections() -> TestApp {
        with_store(fixture::two_connections()).await
    }
}
