//! Credentials are derived from one another at random, in every possible way, while people and service accounts are
//! changed, in two processes: none ever has rights that one of its ancestors does not have, and no administrator
//! grants, changes or sees what exceeds their own rights. `PORTICO_SEED` repeats a run, `PORTICO_CASES` makes it
//! longer.

#[path = "chains/administering.rs"]
mod administering;
#[path = "chains/dice.rs"]
mod dice;

use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

use secrecy::SecretString;
use uuid::Uuid;

use self::dice::Dice;
use super::support::{House, ISSUER, SALES, STOCK, approval, new_client, process, proof, redemption, refreshing};
use crate::accounts::Accounts;
use crate::oauth::authorization::{IssuedTokens, RefreshTokenRequest};
use crate::records::{NewPat, NewServiceAccount, NewUser};
use crate::store::Store;
use crate::{Auth, AuthSettings, Authenticate, TokenRequest};
use portico_core::error::{Kind, Result};
use portico_core::principal::{Credential, Endpoint, Principal, Rights, Scope};

const PASSWORD: &str = "correct horse battery";
const LABEL: Uuid = Uuid::from_u128(0x8b0b_1a52_8d0e_4c57_9d1b_6a7f_3f0c_2b33);
/// Chains of one run, and the steps of each.
const CASES: u64 = 8;
const STEPS: usize = 60;

/// A credential, or something that credentials are derived from.
#[derive(Clone, Debug)]
enum Made {
    /// By address.
    Person(String),
    Token {
        email: String,
        secret: SecretString,
    },
    Session(SecretString),
    /// A person's consent, with the newest refresh token.
    Consent(SecretString),
    Account {
        client_id: String,
        secret: SecretString,
    },
    Access(SecretString),
}

#[derive(Clone, Debug)]
struct Node {
    made: Made,
    /// The nodes that it derives from.
    from: Vec<usize>,
    /// The rights requested or agreed to, or those of the administrator who handed it over.
    most: Rights,
    /// The token in whose session an administrator made it.
    ends_with: Option<usize>,
}

struct Chain {
    house: House,
    store: Store,
    replicas: [(Accounts, Auth); 2],
    client: String,
    nodes: Vec<Node>,
    dice: Dice,
    /// The steps so far, for the reader of a failure.
    done: VecDeque<String>,
}

fn refused<T>(answer: Result<T>) -> Option<T> {
    // On a busy machine the store may be late: then nothing was made.
    let kinds = [Kind::Unauthenticated, Kind::Forbidden, Kind::Invalid, Kind::NotFound, Kind::Unavailable];
    match answer {
        Ok(answer) => Some(answer),
        Err(error) => {
            assert!(kinds.contains(&error.kind), "{error:?}");
            None
        }
    }
}

impl Chain {
    async fn begin(seed: u64) -> Self {
        let house = House::new();
        let mut store = house.store();
        let client = store.add_client(&new_client("client")).unwrap().0.client_id;
        let replicas = [Self::replica(&house).await, Self::replica(&house).await];
        let mut chain =
            Self { house, store, replicas, client, nodes: Vec::new(), dice: Dice(seed), done: VecDeque::new() };
        for (name, rights) in [("root", Rights::ALL), ("ann", chain.dice.listed()), ("bob", chain.dice.some_rights())] {
            let email = format!("{name}@example.com");
            chain.store.add_user(NewUser { email: email.clone(), rights }).unwrap();
            chain.node(Made::Person(email), &[], Rights::ALL);
        }
        chain.store.change_password("ann@example.com", Some(&PASSWORD.into())).unwrap();
        let new = NewServiceAccount { name: "nightly".to_owned(), rights: chain.dice.listed() };
        let (account, secret) = chain.store.create_service_account(new).unwrap();
        chain.node(Made::Account { client_id: account.client_id, secret }, &[], Rights::ALL);
        chain
    }

    async fn replica(house: &House) -> (Accounts, Auth) {
        process(AuthSettings { connections: [SALES, STOCK, LABEL].into(), ..house.settings() }).await
    }

    fn node(&mut self, made: Made, from: &[usize], most: Rights) {
        self.nodes.push(Node { made, from: from.to_vec(), most, ends_with: None });
    }

    /// As above, for what an administrator makes in a session.
    fn handed_over(&mut self, made: Made, from: &[usize], most: Rights, session: usize) {
        let ends_with = self.nodes[session].from.first().copied();
        let ends_with = ends_with.filter(|at| matches!(self.nodes[*at].made, Made::Token { .. }));
        self.nodes.push(Node { made, from: from.to_vec(), most, ends_with });
    }

    /// One of a kind by chance.
    fn any<T>(&mut self, of: impl Fn(&Made) -> Option<T>) -> Option<(usize, T)> {
        let all: Vec<usize> = (0..self.nodes.len()).filter(|at| of(&self.nodes[*at].made).is_some()).collect();
        // The newer ones rather than the older ones, which may have ended.
        let at = (!all.is_empty()).then(|| self.dice.one(&all).max(self.dice.one(&all)))?;
        of(&self.nodes[at].made).map(|made| (at, made))
    }

    fn person(&mut self) -> (usize, String) {
        self.any(|made| if let Made::Person(email) = made { Some(email.clone()) } else { None }).unwrap()
    }

    fn session(&mut self) -> Option<(usize, SecretString)> {
        self.any(|made| if let Made::Session(secret) = made { Some(secret.clone()) } else { None })
    }

    /// Returns one of the processes at random, with everything in force that was written before.
    async fn replica_by_chance(&mut self) -> (Accounts, Auth) {
        let (people, auth) = self.dice.one(&self.replicas);
        auth.sync().await;
        (people, auth)
    }

    /// Does one thing of the tables.
    async fn step(&mut self, way: &str) {
        let rights = self.dice.some_rights();
        match way {
            "user change" => {
                let (_, email) = self.person();
                let change = NewUser { email, rights };
                self.done.push_back(format!("{change:?}"));
                refused(self.store.change_user(change));
            }
            "pat create" => {
                let (at, email) = self.person();
                let new = NewPat { rights: rights.clone(), ..NewPat::default() };
                self.done.push_back(format!("a token of {email} by the command line: {rights:?}"));
                if let Some((_, secret)) = refused(self.store.create_pat(&email, new)) {
                    self.node(Made::Token { email, secret }, &[at], rights);
                }
            }
            "sign in with a password" => {
                let (people, _) = self.replica_by_chance().await;
                self.done.push_back("ann signs in with the password".to_owned());
                let begun = people.sign_in("ann@example.com".to_owned(), PASSWORD.into(), None).await;
                if let Some(session) = refused(begun) {
                    self.node(Made::Session(session.0), &[1], Rights::ALL);
                }
            }
            "sign in with a token" => self.sign_in().await,
            "make a token" => self.create_token(rights).await,
            "allow an application" => self.consent().await,
            "refresh" => self.refresh().await,
            "exchange" => self.exchange().await,
            "service-account change" => {
                let rights = self.dice.listed();
                self.done.push_back(format!("the service account has {rights:?}"));
                let all = self.store.service_accounts().unwrap();
                let change = NewServiceAccount { name: self.dice.one(&all).name, rights };
                refused(self.store.change_service_account(change));
            }
            "pat revoke" => {
                let Some((at, secret)) = self.any(|made| match made {
                    Made::Token { secret, .. } => Some(secret.clone()),
                    _ => None,
                }) else {
                    return;
                };
                self.done.push_back(format!("{at} is revoked"));
                refused(self.store.revoke_pat(secrecy::ExposeSecret::expose_secret(&secret)));
            }
            "time passes" => {
                let seconds = [1, 60, 600][self.dice.below(3)];
                self.done.push_back(format!("{seconds} s pass"));
                self.house.pass(seconds);
            }
            "disable or enable a user" if self.dice.below(2) == 0 => {
                let (_, email) = self.person();
                self.done.push_back(format!("{email} is disabled or enabled"));
                if refused(self.store.disable_user(&email)).is_some() {
                    self.look().await;
                    self.store.enable_user(&email).unwrap();
                }
            }
            of_administrators => self.administer(of_administrators, rights).await,
        }
    }

    async fn sign_in(&mut self) {
        let (people, _) = self.replica_by_chance().await;
        let token = self.any(|made| match made {
            Made::Token { email, secret } => Some((email.clone(), secret.clone())),
            _ => None,
        });
        let Some((at, (email, secret))) = token else { return };
        self.done.push_back(format!("{email} signs in with {at}"));
        if let Some(session) = refused(people.sign_in(email, secret, None).await) {
            self.node(Made::Session(session.0), &[at], Rights::ALL);
        }
    }

    async fn create_token(&mut self, rights: Rights) {
        let (people, _) = self.replica_by_chance().await;
        let Some((at, session)) = self.session() else { return };
        let Some(email) = people.session(&session, None).await.unwrap().map(|session| session.email) else { return };
        self.done.push_back(format!("a token in {at}: {rights:?}"));
        let new = NewPat { rights: rights.clone(), ..NewPat::default() };
        if let Some((_, secret)) = refused(people.create_token(&session, new).await) {
            self.node(Made::Token { email, secret }, &[at], rights);
        }
    }

    async fn consent(&mut self) {
        let (people, _) = self.replica_by_chance().await;
        let Some((at, session)) = self.session() else { return };
        let Some(held) = people.session(&session, None).await.unwrap() else { return };
        let asked = self.dice.listed();
        // A forged form; one scope for all connections; and what the page makes of it.
        let ids = [SALES, STOCK, LABEL].into_iter().filter(|id| held.rights.covers(*id));
        let even = Rights::only(ids, held.rights.widest());
        let rights = [asked.clone(), even, asked.intersection(&held.rights)][self.dice.below(3)].clone();
        self.done.push_back(format!("consent in {at}: {rights:?}"));
        let approval = approval(&self.client, rights.clone());
        let Some(code) = refused(people.approve(&session, approval).await) else { return };
        assert!(held.rights.contains(&rights), "{rights:?} was given by who has {:?}", held.rights);
        let (people, _) = self.replica_by_chance().await;
        let issued = people.redeem(redemption(&self.client, &code)).await.unwrap();
        let consent = self.nodes.len();
        self.node(Made::Consent(issued.refresh.clone()), &[at], rights);
        self.issued(consent, issued);
    }

    fn issued(&mut self, consent: usize, issued: IssuedTokens) {
        self.nodes[consent].made = Made::Consent(issued.refresh);
        let most = self.nodes[consent].most.up_to(Scope::widest(issued.access.scope).unwrap());
        self.node(Made::Access(issued.access.token), &[consent], most);
    }

    fn resource(&mut self) -> Option<String> {
        let connection = self.dice.one(&[SALES, STOCK, LABEL]);
        let all = [None, Some(format!("{ISSUER}/mcp/connections/{connection}")), Some(format!("{ISSUER}/api"))];
        self.dice.one(&all)
    }

    async fn refresh(&mut self) {
        let (people, _) = self.replica_by_chance().await;
        let consent = self.any(|made| if let Made::Consent(token) = made { Some(token.clone()) } else { None });
        let Some((at, token)) = consent else { return };
        let scope = self.dice.one(&[None, Some("read"), Some("write"), Some("admin")]).map(str::to_owned);
        let resource = self.resource();
        self.done.push_back(format!("{at} is refreshed for {scope:?} at {resource:?}"));
        if let Ok(issued) =
            people.refresh(RefreshTokenRequest { scope, resource, ..refreshing(&self.client, &token) }).await
        {
            self.issued(at, issued);
        }
    }

    async fn exchange(&mut self) {
        let (_, auth) = self.replica_by_chance().await;
        let account = self.any(|made| match made {
            Made::Account { client_id, secret } => Some((client_id.clone(), secret.clone())),
            _ => None,
        });
        let Some((at, (client_id, secret))) = account else { return };
        let scope = self.dice.one(&[None, Some("read"), Some("write")]).map(str::to_owned);
        let resource = self.resource();
        self.done.push_back(format!("{at} exchanges its secret for {scope:?} at {resource:?}"));
        let request = TokenRequest { client: proof(&client_id, &secret), scope, resource };
        let accounts = self.store.service_accounts().unwrap();
        if let Ok(token) = auth.send(request).await.unwrap() {
            let held = accounts.into_iter().find(|account| account.client_id == client_id).unwrap();
            let most = held.rights.up_to(Scope::widest(token.scope).unwrap());
            self.node(Made::Access(token.token), &[at], most);
        }
    }

    async fn ask(auth: &Auth, credential: Credential, endpoint: Endpoint) -> Option<Rights> {
        let answer = auth.authenticate(Authenticate { credential, endpoint, from: None }).await;
        refused(answer).map(|by: std::sync::Arc<Principal>| by.rights.clone())
    }

    /// Returns the current rights of a node at each endpoint; empty if it is refused.
    async fn opens(&self, made: &Made, people: &Accounts, auth: &Auth) -> Vec<Rights> {
        match made {
            Made::Person(email) => {
                let user = self.store.users().unwrap().into_iter().find(|user| user.email == *email);
                user.filter(|user| user.disabled_at.is_none()).map(|user| user.rights).into_iter().collect()
            }
            Made::Account { client_id, .. } => {
                let all = self.store.service_accounts().unwrap();
                let account = all.into_iter().find(|account| account.client_id == *client_id);
                account.filter(|it| it.disabled_at.is_none()).map(|it| it.rights).into_iter().collect()
            }
            Made::Token { email, secret } => {
                let credential = Credential::Basic { email: email.clone(), token: secret.clone() };
                Self::ask(auth, credential, Endpoint::Api).await.into_iter().collect()
            }
            Made::Session(secret) => {
                people.session(secret, None).await.unwrap().map(|session| session.rights).into_iter().collect()
            }
            Made::Consent(_) => Vec::new(),
            Made::Access(token) => {
                let mut opened = Vec::new();
                for endpoint in [Endpoint::Api, Endpoint::Mcp] {
                    opened.extend(Self::ask(auth, Credential::Bearer(token.clone()), endpoint).await);
                }
                opened
            }
        }
    }

    /// Compares each with everything that it came from.
    async fn look(&mut self) {
        let (people, auth) = self.replica_by_chance().await;
        let mut opened = Vec::new();
        for node in &self.nodes {
            opened.push(self.opens(&node.made, &people, &auth).await);
        }
        for (at, node) in self.nodes.iter().enumerate() {
            for rights in &opened[at] {
                let is_account = matches!(node.made, Made::Account { .. });
                // An account may be given more than its secret opens.
                assert!(
                    is_account || node.most.contains(rights),
                    "{at} opens {rights:?}, of {:?}: {node:?} {:#?}",
                    node.most,
                    self.done
                );
                if let Some(token) = node.ends_with.filter(|token| opened[*token].is_empty() && !is_account) {
                    panic!("{at} opens {rights:?}, and {token} has ended: {:#?}", self.done);
                }
                let mut ancestors = node.from.clone();
                while let Some(ancestor) = ancestors.pop() {
                    let older = &self.nodes[ancestor];
                    if let Some(token) = older.ends_with.filter(|token| opened[*token].is_empty()) {
                        panic!(
                            "{at} opens {rights:?}, and {token} has ended, out of which {ancestor} came: {:#?}",
                            self.done
                        );
                    }
                    assert!(
                        older.most.contains(rights),
                        "{at} opens {rights:?}: {ancestor} {older:?} {:#?}",
                        self.done
                    );
                    ancestors.extend(&older.from);
                    // A session may have ended, and a consent is compared by what was agreed to.
                    let is_over = opened[ancestor].is_empty();
                    if is_over && matches!(older.made, Made::Session(_) | Made::Consent(_)) {
                        continue;
                    }
                    assert!(
                        opened[ancestor].iter().any(|own| own.contains(rights)),
                        "{at} opens {rights:?}, and {ancestor}, which it came from, {:?}: {:#?}",
                        opened[ancestor],
                        self.done
                    );
                }
            }
        }
    }
}

/// The ways of the tables: the words in front of each row.
fn ways() -> Vec<&'static str> {
    let rows = include_str!("../../../../../docs/access.md").lines();
    rows.filter_map(|row| row.strip_prefix("| `")?.split_once('`').map(|(way, _)| way)).collect()
}

#[actix::test]
async fn no_credential_ever_opens_what_one_of_its_ancestors_does_not() {
    let given = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let by_time = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos().into();
    let seed = given("PORTICO_SEED").unwrap_or_else(by_time);
    println!("PORTICO_SEED={seed}");
    let ways = ways();
    assert!(ways.len() > 10, "the tables are gone: {ways:?}");
    let mut made = 0;
    for case in 0..given("PORTICO_CASES").unwrap_or(CASES) {
        let mut chain = Chain::begin(seed.wrapping_add(case)).await;
        chain.done.push_back(format!("PORTICO_SEED={} PORTICO_CASES=1", seed.wrapping_add(case)));
        for step in 0..STEPS {
            // Each way once, and then those that make the chains long.
            let way = ways.get(step).copied().unwrap_or_else(|| chain.dice.one(&ways));
            chain.step(way).await;
            chain.look().await;
        }
        made += chain.nodes.len();
    }
    assert!(made > 30, "hardly anything was made: {made}");
}
