//! Random choices for the chains: the next step, and its rights.

use super::super::support::{SALES, STOCK};
use super::LABEL;
use portico_core::principal::{Rights, Scope, WorkspaceGrant};

/// Numbers by chance (`SplitMix64`).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % most as u64).unwrap()
    }

    pub(super) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    pub(super) fn some_rights(&mut self) -> Rights {
        if self.below(3) == 0 {
            return Rights::all(self.one(&Scope::ALL));
        }
        self.listed()
    }

    /// At least one connection or workspace.
    pub(super) fn listed(&mut self) -> Rights {
        let first = self.below(5);
        let chosen: Vec<_> = (0..5).filter(|at| *at == first || self.below(3) == 0).collect();
        let chosen: Vec<_> = chosen.into_iter().map(|at| (at, self.one(&Scope::ALL))).collect();
        let connection = |(at, scope): &(usize, Scope)| Some(([SALES, STOCK, LABEL].get(*at).copied()?, *scope));
        let workspace = |(at, scope): &(usize, Scope)| {
            let name = ["revenue", "stores"].get(at.checked_sub(3)?).copied()?;
            Some((name.into(), WorkspaceGrant::Given(*scope)))
        };
        let connections = Rights::each(chosen.iter().filter_map(connection));
        connections.with_workspaces(chosen.iter().filter_map(workspace))
    }
}
