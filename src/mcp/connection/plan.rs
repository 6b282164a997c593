//! Plans a tool call: the operation, and the connections to call. The address of one connection determines it; at
//! an address of several, it is the tool's connection, or that of `catalogName`, or those that the statement names.

use std::borrow::Borrow;

use portico_actors::directory::ConnectionEntry;
use portico_actors::error::{Error, Result};
use portico_actors::pattern;

use super::offers;
use crate::encode::TruncationHint;
use crate::fields::Fields;
use crate::mcp::context::Context;
use crate::mcp::target::{AllTarget, Catalog, Target, TargetConnection, WorkspaceTarget};
use crate::routing::{self, Addressing};
use crate::tools::{self, Offer, Operation, ResolvedCall, ResolvedTool};

/// The argument that says which connection is meant.
const CATALOG: &str = "catalogName";
/// A text over this many bytes is read on a thread for blocking work.
const LARGE_TEXT: usize = 16 * 1024;

/// The connections to call.
pub(super) enum CallTarget<'m> {
    /// One connection; where the caller's statement says which, by that.
    One(&'m TargetConnection, Option<Addressing>),
    /// All of these, which the caller's statement names.
    Several(Vec<&'m TargetConnection>, Addressing),
    /// Each of these, for a listing.
    Listed(Vec<Catalog<'m>>),
    /// A workspace.
    Workspace(&'m WorkspaceTarget),
}

/// A call that was understood.
#[allow(clippy::large_enum_variant, reason = "one is made for each call and not kept: a box would only cost")]
pub(super) enum RoutedCall<'m> {
    /// The operation, and the connections to call.
    Ask(ResolvedCall, CallTarget<'m>),
    /// The instructions of each of several connections.
    Instructions(Vec<(ResolvedCall, Catalog<'m>)>),
}

/// The workspace that a call of the tool `name` names by `catalogName`, which is taken out then, or that is all there is.
/// A tool of one connection may have an argument of that name itself.
pub(super) fn workspace<'m>(all: &'m AllTarget, name: &str, fields: &mut Fields) -> Option<&'m WorkspaceTarget> {
    if !tools::fixed_names().any(|fixed| fixed == name) {
        return all.only_workspace();
    }
    match fields.peek(CATALOG).ok()? {
        Some(catalog) => {
            let it = all.workspace(&catalog)?;
            drop(fields.take(CATALOG));
            Some(it)
        }
        None => all.only_workspace(),
    }
}

/// Reads which connections a call of the tool `name` addresses by its arguments, if the address does not determine
/// it and the tool runs a statement or a procedure of the caller's.
///
/// # Errors
/// The statement or the name is not valid.
pub(super) async fn addressing(context: &Context<'_>, name: &str, fields: &mut Fields) -> Result<Option<Addressing>> {
    let is_executing = || tools::executing_names().any(|executing| executing == name);
    if !matches!(context.target, Target::All(_)) || !is_executing() {
        return Ok(None);
    }
    let default = fields.string(CATALOG)?;
    if name == Operation::ExecuteProcedure.as_str() {
        let procedure = given(fields, "procedure")?;
        return Addressing::of_procedure(&procedure, default, CATALOG).map(Some);
    }
    let text = given(fields, "query")?;
    let is_large = text.len() > LARGE_TEXT;
    let read = move || Addressing::of_statements(&text, default, CATALOG).map(Some);
    // A large text is parsed on a thread that may block.
    if is_large { tokio::task::spawn_blocking(read).await.map_err(Error::internal)? } else { read() }
}

/// Reads a text, which stays among `fields`.
fn given(fields: &mut Fields, name: &'static str) -> Result<String> {
    match fields.peek(name)? {
        Some(text) => Ok(text),
        None => fields.required(name),
    }
}

/// A connection and its offer.
struct Choice<'m, 'o> {
    member: &'m TargetConnection,
    of: usize,
    offer: &'o Offer<'o>,
}

impl Borrow<ConnectionEntry> for Choice<'_, '_> {
    fn borrow(&self) -> &ConnectionEntry {
        &self.member.entry
    }
}

/// Plans a call of `found`, one of the tools of `offers`.
///
/// # Errors
/// The arguments are wrong, it is not clear which connections they address, or the caller may not do that.
pub(super) fn plan<'m>(
    context: &Context<'m>,
    offers: &[Offer<'_>],
    found: &ResolvedTool<'_>,
    addressing: Option<Addressing>,
    fields: Fields,
) -> Result<RoutedCall<'m>> {
    let planner = Planner { context, offers, found };
    if let Target::Workspace(workspace) = context.target {
        return Ok(RoutedCall::Ask(planner.resolve(0, fields)?, CallTarget::Workspace(workspace)));
    }
    let members = context.target.members();
    let workspaces = offers::own_workspaces(context.target);
    if let Some(of) = found.of.or_else(|| context.target.named().map(|_| 0)) {
        let member = members.get(of).map(|member| CallTarget::One(member, None));
        let workspace = || of.checked_sub(members.len()).and_then(|of| workspaces.get(of)).copied();
        let whom = member.or_else(|| workspace().map(CallTarget::Workspace));
        let whom = whom.ok_or_else(|| Error::internal("bug: a tool belongs to no connection"))?;
        return Ok(RoutedCall::Ask(planner.resolve(of, fields)?, whom));
    }
    let all = members.iter().zip(offers).enumerate();
    let all: Vec<Choice<'m, '_>> = all.map(|(of, (member, offer))| Choice { member, of, offer }).collect();
    match addressing {
        Some(addressing) => planner.addressed(&all, addressing, fields),
        None => planner.listed(&all, &workspaces, fields),
    }
}

/// The input for planning a tool call.
struct Planner<'a, 'm> {
    context: &'a Context<'m>,
    offers: &'a [Offer<'a>],
    found: &'a ResolvedTool<'a>,
}

impl<'m> Planner<'_, 'm> {
    /// Understands the arguments for the offer at the place `of`.
    fn resolve(&self, of: usize, fields: Fields) -> Result<ResolvedCall> {
        self.found.resolve(self.offers, of, self.context.filter, fields)
    }

    /// Understands the arguments for several offers at once.
    fn resolve_for_all(&self, offers: &[Offer<'_>], fields: Fields) -> Result<ResolvedCall> {
        self.found.resolve(&[tools::widest(offers)], 0, self.context.filter, fields)
    }

    /// Plans a call whose statement or procedure determines the connection.
    fn addressed(&self, all: &[Choice<'m, '_>], addressing: Addressing, fields: Fields) -> Result<RoutedCall<'m>> {
        let explain = |error| match self.context.target {
            Target::All(all) => addressing.explain(error, all.workspaces.iter().map(|it| &it.reachable), CATALOG),
            _ => error,
        };
        if let Some(several) = addressing.several(all).map_err(explain)? {
            several.iter().try_for_each(|choice| is_on(self.found, choice.offer))?;
            let of: Vec<Offer<'_>> = several.iter().map(|choice| *choice.offer).collect();
            let resolved = self.resolve_for_all(&of, fields)?;
            let members = several.into_iter().map(|choice| choice.member).collect();
            return Ok(RoutedCall::Ask(resolved, CallTarget::Several(members, addressing)));
        }
        let Choice { member, of, offer } = addressing.choose(all).map_err(explain)?;
        is_on(self.found, offer)?;
        Ok(RoutedCall::Ask(self.resolve(*of, fields)?, CallTarget::One(member, Some(addressing))))
    }

    /// Plans a call to each of the connections that its arguments name.
    fn listed(
        &self,
        all: &[Choice<'m, '_>],
        workspaces: &[&'m WorkspaceTarget],
        fields: Fields,
    ) -> Result<RoutedCall<'m>> {
        let mut wanted = matching(all, workspaces, fields.peek(CATALOG)?.as_deref())?;
        let offer = |of: &usize| self.offers.get(*of);
        let is_there = |(_, of): &(Catalog<'_>, usize)| offer(of).is_some_and(|offer| self.found.is_on(offer));
        if let Some(first) = wanted.first().filter(|_| !wanted.iter().any(is_there)).and_then(|(_, of)| offer(of)) {
            is_on(self.found, first)?;
        }
        wanted.retain(is_there);
        if self.found.operation() == Operation::GetInstructions {
            return self.instructions(wanted, fields);
        }
        let of: Vec<Offer<'_>> = wanted.iter().filter_map(|(_, of)| offer(of).copied()).collect();
        let mut resolved = self.resolve_for_all(&of, fields)?;
        if of.len() > 1 {
            resolved.caps.rest = TruncationHint::Connections;
        }
        Ok(RoutedCall::Ask(resolved, CallTarget::Listed(wanted.into_iter().map(|(catalog, _)| catalog).collect())))
    }

    /// Plans the instructions of each of `wanted`.
    fn instructions(&self, wanted: Vec<(Catalog<'m>, usize)>, mut fields: Fields) -> Result<RoutedCall<'m>> {
        drop(fields.take(CATALOG));
        fields.finish("arguments")?;
        let each = wanted.into_iter().map(|(catalog, of)| Ok((self.resolve(of, Fields::default())?, catalog)));
        let mut each = each.collect::<Result<Vec<_>>>()?;
        Ok(match each.pop() {
            Some((resolved, Catalog::Connection(only))) if each.is_empty() => {
                RoutedCall::Ask(resolved, CallTarget::One(only, None))
            }
            Some((resolved, Catalog::Workspace(only))) if each.is_empty() => {
                RoutedCall::Ask(resolved, CallTarget::Workspace(only))
            }
            last => RoutedCall::Instructions(each.into_iter().chain(last).collect()),
        })
    }
}

/// Returns what `catalog` names, exactly or as a pattern, or everything without it; each with the index of its
/// offer.
fn matching<'m>(
    connections: &[Choice<'m, '_>],
    workspaces: &[&'m WorkspaceTarget],
    catalog: Option<&str>,
) -> Result<Vec<(Catalog<'m>, usize)>> {
    let all = workspaces.iter().enumerate().map(|(at, it)| (Catalog::Workspace(it), connections.len() + at));
    let is_exact =
        connections.iter().any(|it| catalog.is_some_and(|name| it.member.entry.name.eq_ignore_ascii_case(name)));
    let fits = |(it, _): &(Catalog<'_>, usize)| !is_exact && pattern::matches(catalog, it.name());
    let found: Vec<(Catalog<'m>, usize)> = all.filter(fits).collect();
    let connections = match routing::matching(connections, catalog) {
        Err(_) if !found.is_empty() => Vec::new(),
        connections => connections?,
    };
    let both = connections.into_iter().map(|it| (Catalog::Connection(it.member), it.of)).chain(found);
    let both: Vec<_> = both.collect();
    if both.is_empty() {
        Err(Error::not_found("none of the connections at this address is there now"))
    } else {
        Ok(both)
    }
}

/// Refuses a tool that is disabled on one of several connections.
fn is_on(found: &ResolvedTool<'_>, offer: &Offer<'_>) -> Result<()> {
    if found.is_on(offer) {
        return Ok(());
    }
    let message =
        format!("the tool {} is switched off on the connection {}", found.operation().as_str(), offer.connection);
    Err(Error::forbidden(message).hint("ask another connection, or use another tool"))
}
