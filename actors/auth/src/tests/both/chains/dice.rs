//! Chance for the chains: which way is gone, and with which rights.

use super::super::support::{SALES, STOCK};
use super::LABEL;
use portico_core::principal::{Rights, Scope};

const SCOPES: [Scope; 3] = [Scope::Read, Scope::Write, Scope::Admin];

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
            return Rights::all(self.one(&SCOPES));
        }
        self.listed()
    }

    /// At least one connection.
    pub(super) fn listed(&mut self) -> Rights {
        let first = self.below(3);
        let chosen: Vec<_> = (0..3).filter(|at| *at == first || self.below(2) == 0).collect();
        Rights::each(chosen.into_iter().map(|at| ([SALES, STOCK, LABEL][at], self.one(&SCOPES))))
    }
}
