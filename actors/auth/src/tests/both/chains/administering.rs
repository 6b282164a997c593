//! The steps of administrators in a chain, and of users who try to be one.

use super::{Chain, Made, refused};
use crate::accounts::AdminAction;
use crate::records::{NewPat, NewServiceAccount, NewUser};
use portico_core::principal::Rights;

impl Chain {
    /// One operation for administrators, in a random session.
    pub(super) async fn administer(&mut self, way: &str, rights: Rights) {
        let (people, _) = self.replica_by_chance().await;
        let Some((at, session)) = self.session() else { return };
        let Some(held) = people.session(&session, None).await.unwrap() else { return };
        let (users, accounts) = (self.store.users().unwrap(), self.store.service_accounts().unwrap());
        let (user, account) = (self.dice.one(&users), self.dice.one(&accounts));
        let name = format!("made-{}", self.nodes.len());
        let (done, target) = match way {
            "add a user" => {
                let new = NewUser { email: format!("{name}@example.com"), rights: rights.clone() };
                let made = refused(people.add_user(&session, new, NewPat::default()).await);
                if let Some((made, secret)) = &made {
                    let person = self.nodes.len();
                    self.node(Made::Person(made.email.clone()), &[], Rights::ALL);
                    let first = Made::Token { email: made.email.clone(), secret: secret.clone() };
                    self.handed_over(first, &[person], rights.clone(), at);
                }
                (made.is_some(), rights)
            }
            "make a service account" => {
                let rights = self.dice.listed();
                let new = NewServiceAccount { name, rights: rights.clone() };
                let made = refused(people.create_account(&session, new).await);
                let done = made.is_some();
                if let Some((made, secret)) = made {
                    let made = Made::Account { client_id: made.client_id, secret };
                    self.handed_over(made, &[], held.rights.administered(), at);
                }
                (done, rights)
            }
            "replace a secret" => {
                let rotated = refused(people.rotate_account(&session, account.client_id.clone()).await);
                if let Some((_, secret)) = &rotated {
                    let client_id = account.client_id.clone();
                    let made = Made::Account { client_id, secret: secret.clone() };
                    self.handed_over(made, &[], held.rights.administered(), at);
                }
                (rotated.is_some(), account.rights)
            }
            "disable or enable an account" => {
                let disable = account.disabled_at.is_none();
                let change = if disable { AdminAction::DisableAccount } else { AdminAction::EnableAccount };
                (refused(people.change(&session, change(account.client_id)).await).is_some(), account.rights)
            }
            "disable or enable a user" => {
                let change =
                    if user.disabled_at.is_none() { AdminAction::DisableUser } else { AdminAction::EnableUser };
                (refused(people.change(&session, change(user.email)).await).is_some(), user.rights)
            }
            "remove a user" => {
                // Those of the beginning are needed.
                let Some(user) = users.into_iter().find(|user| user.email.starts_with("made-")) else { return };
                (refused(people.change(&session, AdminAction::RemoveUser(user.email)).await).is_some(), user.rights)
            }
            "read the directory" => {
                let Some(seen) = refused(people.directory(&session).await) else { return };
                let all = seen.users.iter().map(|user| &user.rights);
                for seen in all.chain(seen.accounts.iter().map(|account| &account.rights)) {
                    assert!(
                        held.rights.administered().contains(seen),
                        "{at}, who has {:?}, saw {seen:?}: {:#?}",
                        held.rights,
                        self.done
                    );
                }
                // A user who only reads some connection has more than the administrator administers.
                let whole = held.rights.administered() == held.rights;
                let own = !whole || seen.users.iter().any(|user| user.email == held.email);
                assert!(own && held.administers(), "{at}: {:#?}", self.done);
                return;
            }
            unknown => panic!("the table has a way that nobody tries: {unknown}"),
        };
        self.done.push_back(format!("{way} by {at}, {target:?}: {done}"));
        let may = held.administers() && held.rights.administered().contains(&target);
        assert!(may || !done, "{at}, who has {:?}, changed {target:?}: {:#?}", held.rights, self.done);
    }
}
