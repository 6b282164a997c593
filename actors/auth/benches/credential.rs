//! The look-up of a credential that is known, as it is done for each request.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use divan::{AllocProfiler, Bencher};
use futures_util::FutureExt;
use portico_auth::records::{NewPat, NewUser};
use portico_auth::store::Store;
use portico_auth::{Auth, AuthSettings, Authenticate};
use portico_core::principal::{Credential, Endpoint, Rights, Scope};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

#[divan::bench(threads = [1, 2, 4], sample_size = 1_000)]
fn known_credential(bencher: Bencher) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("portico.db");
    let mut store = Store::open(&place).unwrap();
    let email = "bench@example.com".to_owned();
    store.add_user(NewUser { email: email.clone(), rights: Rights::all(Scope::Read) }).unwrap();
    let (_, token) = store.create_pat(&email, NewPat::default()).unwrap();
    let asked = Authenticate { credential: Credential::Basic { email, token }, endpoint: Endpoint::Mcp, from: None };
    let system = actix::System::new();
    let auth = system.block_on(async {
        let auth = Auth::start(AuthSettings::new(place, "http://localhost", Arc::new(|_| {}))).await.unwrap();
        auth.authenticate(asked.clone()).await.unwrap();
        auth
    });
    bencher.with_inputs(|| asked.clone()).bench_values(|asked| {
        // A cached verdict is returned without waiting.
        auth.authenticate(asked).now_or_never().unwrap().unwrap()
    });
}
