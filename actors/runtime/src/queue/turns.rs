//! Round robin between waiting owners, first come first served among the items of each. A pure value, so that it
//! can be tested without time.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// How many owners, and items of each, are looked at for one that suits.
const NEAR: usize = 16;

/// Identifies a place among the waiting items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

/// Items that wait, a lane for each of their owners.
#[derive(Debug)]
pub(super) struct Turns<K, T> {
    /// No lane is empty.
    lanes: HashMap<K, VecDeque<(Ticket, T)>>,
    /// The owners of the lanes, the next one in front.
    order: VecDeque<K>,
    waiting: usize,
    next: u64,
}

impl<K, T> Default for Turns<K, T> {
    fn default() -> Self {
        Self { lanes: HashMap::new(), order: VecDeque::new(), waiting: 0, next: 0 }
    }
}

impl<K: Clone + Eq + Hash, T> Turns<K, T> {
    /// How many items wait.
    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    /// How many owners have something that waits.
    pub(super) fn owners(&self) -> usize {
        self.order.len()
    }

    /// Whether something of `owner` waits.
    #[cfg(test)]
    pub(super) fn has(&self, owner: &K) -> bool {
        self.lanes.contains_key(owner)
    }

    /// Returns every item, in no order.
    pub(super) fn into_items(self) -> impl Iterator<Item = T> {
        self.lanes.into_values().flatten().map(|(_, item)| item)
    }

    /// Puts an item at the end of its owner's lane.
    pub(super) fn join(&mut self, owner: &K, item: T) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.waiting += 1;
        match self.lanes.get_mut(owner) {
            Some(lane) => lane.push_back((ticket, item)),
            None => {
                self.lanes.insert(owner.clone(), VecDeque::from([(ticket, item)]));
                self.order.push_back(owner.clone());
            }
        }
        ticket
    }

    /// Removes the next item of an owner that `may` have one. If it does not `suit`, one that suits and is close
    /// behind may go first. The owner's next turn comes after all others.
    pub(super) fn next(&mut self, may: impl Fn(&K) -> bool, suits: impl Fn(&T) -> bool) -> Option<(K, T)> {
        let mut waiting =
            self.order.iter().enumerate().filter(|(_, owner)| may(owner)).take(NEAR).flat_map(|(at, owner)| {
                let lane = self.lanes.get(owner).into_iter().flatten();
                lane.take(NEAR).enumerate().map(move |(within, (_, item))| (at, within, item))
            });
        let (first, ..) = waiting.clone().next()?;
        let (place, within) = waiting.find(|(.., item)| suits(item)).map_or((first, 0), |(at, within, _)| (at, within));
        let owner = self.order.remove(place)?;
        let lane = self.lanes.get_mut(&owner)?;
        let (_, item) = lane.remove(within)?;
        if lane.is_empty() {
            self.lanes.remove(&owner);
        } else {
            self.order.push_back(owner.clone());
        }
        self.waiting -= 1;
        Some((owner, item))
    }

    /// Takes back an item that still waits.
    pub(super) fn leave(&mut self, owner: &K, ticket: Ticket) -> Option<T> {
        let lane = self.lanes.get_mut(owner)?;
        let place = lane.iter().position(|(other, _)| *other == ticket)?;
        let (_, item) = lane.remove(place)?;
        self.taken_from(owner);
        Some(item)
    }

    /// Makes room for one more item of `owner`: the newest item of the longest lane, if that lane
    /// stays at least as long as the owner's becomes. Else the owner asks for more than its share.
    pub(super) fn displace_for(&mut self, owner: &K) -> Option<T> {
        let own = self.lanes.get(owner).map_or(0, VecDeque::len);
        let length = |other: &K| self.lanes.get(other).map_or(0, VecDeque::len);
        let longest = self.order.iter().max_by_key(|other| length(other))?.clone();
        if length(&longest) <= own + 1 {
            return None;
        }
        let (_, item) = self.lanes.get_mut(&longest)?.pop_back()?;
        self.taken_from(&longest);
        Some(item)
    }

    /// How many of the items that wait have their turn before one that `owner` adds now.
    pub(super) fn ahead_of(&self, owner: &K) -> usize {
        let own = self.lanes.get(owner).map_or(0, VecDeque::len);
        // Lanes in front of the owner's have one turn more before the new item has its.
        let mut turns = own + 1;
        let mut ahead = 0;
        for other in &self.order {
            if other == owner {
                turns = own;
            }
            ahead += self.lanes.get(other).map_or(0, VecDeque::len).min(turns);
        }
        ahead
    }

    fn taken_from(&mut self, owner: &K) {
        self.waiting -= 1;
        if self.lanes.get(owner).is_some_and(VecDeque::is_empty) {
            self.lanes.remove(owner);
            self.order.retain(|other| other != owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Join(u8),
        Next,
        /// The next one, where items with such a number suit better.
        NextOf(usize),
        /// One of the items that joined, counted from the first.
        Leave(usize),
        Displace(u8),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0_u8..5).prop_map(Step::Join),
            3 => Just(Step::Next),
            1 => (0_usize..2).prop_map(Step::NextOf),
            1 => (0_usize..60).prop_map(Step::Leave),
            1 => (0_u8..5).prop_map(Step::Displace),
        ];
        proptest::collection::vec(step, 0..120)
    }

    /// The state of a test run: every granted item, and how long each one waits for a turn.
    #[derive(Default)]
    struct Played {
        turns: Turns<u8, (u8, usize)>,
        joined: Vec<(u8, Ticket)>,
        out: HashSet<usize>,
    }

    impl Played {
        fn play(&mut self, step: Step) -> Result<(), TestCaseError> {
            let taken = match step {
                Step::Join(owner) => {
                    let ticket = self.turns.join(&owner, (owner, self.joined.len()));
                    self.joined.push((owner, ticket));
                    None
                }
                Step::Next => self.turns.next(|_| true, |_| true).map(|(_, item)| item),
                Step::NextOf(kind) => {
                    let suits = |(_, number): &(u8, usize)| number % 2 == kind;
                    let near = (self.turns.order.iter().take(NEAR))
                        .flat_map(|owner| self.turns.lanes.get(owner).into_iter().flatten().take(NEAR))
                        .any(|(_, item)| suits(item));
                    let next = self.turns.next(|_| true, suits).map(|(_, item)| item);
                    prop_assert!(next.is_none_or(|item| suits(&item) || !near), "one that suits was passed over");
                    next
                }
                Step::Leave(which) => match self.joined.get(which) {
                    Some((owner, ticket)) => {
                        let left = self.turns.leave(owner, *ticket);
                        prop_assert_eq!(left.is_some(), !self.out.contains(&which));
                        left
                    }
                    None => None,
                },
                Step::Displace(owner) => {
                    let length =
                        |turns: &Turns<u8, (u8, usize)>, owner| turns.lanes.get(owner).map_or(0, VecDeque::len);
                    let own = length(&self.turns, &owner);
                    let displaced = self.turns.displace_for(&owner);
                    if let Some((loser, _)) = displaced {
                        prop_assert!(loser != owner && length(&self.turns, &loser) > own);
                    }
                    displaced
                }
            };
            if let Some((_, number)) = taken {
                prop_assert!(self.out.insert(number), "an item came out twice");
            }
            prop_assert_eq!(self.turns.len(), self.joined.len() - self.out.len());
            prop_assert_eq!(self.turns.owners(), self.turns.lanes.len());
            prop_assert_eq!(self.turns.len(), self.turns.lanes.values().map(VecDeque::len).sum::<usize>());
            prop_assert!(self.turns.lanes.values().all(|lane| !lane.is_empty()));
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn every_item_comes_out_once_and_in_the_order_of_its_owner(steps in steps()) {
            let mut played = Played::default();
            for step in steps {
                played.play(step)?;
            }
            let mut last = [None; 5];
            while let Some((_, (owner, number))) = played.turns.next(|_| true, |_| true) {
                prop_assert!(played.out.insert(number));
                let last = last.get_mut(usize::from(owner)).expect("an owner of ours");
                prop_assert!(*last < Some(number), "an owner's items changed their order");
                *last = Some(number);
            }
            prop_assert_eq!(played.out.len(), played.joined.len());
        }

        #[test]
        fn who_waits_sees_nobody_have_two_turns_before_their_own(steps in steps()) {
            let mut played = Played::default();
            // For each waiting owner: which owners had a turn since it started to wait, or had its last turn.
            let mut seen: HashMap<u8, HashSet<u8>> = HashMap::new();
            for step in steps {
                let step = if matches!(step, Step::NextOf(_)) { Step::Next } else { step };
                if matches!(step, Step::Next) {
                    let Some(owner) = played.turns.order.front().copied() else { continue };
                    for (waiting, others) in &mut seen {
                        prop_assert!(*waiting == owner || others.insert(owner), "{} went twice before {}", owner, waiting);
                    }
                    seen.remove(&owner);
                }
                played.play(step)?;
                seen.retain(|owner, _| played.turns.lanes.contains_key(owner));
                for owner in played.turns.lanes.keys() {
                    seen.entry(*owner).or_default();
                }
            }
        }

        #[test]
        fn the_place_that_is_told_is_the_place_that_is_had(steps in steps(), owner in 0_u8..5) {
            let mut played = Played::default();
            for step in steps {
                played.play(step)?;
            }
            let ahead = played.turns.ahead_of(&owner);
            let number = played.joined.len();
            played.turns.join(&owner, (owner, number));
            let mut before = 0;
            while played.turns.next(|_| true, |_| true).map(|(_, item)| item) != Some((owner, number)) {
                before += 1;
            }
            prop_assert_eq!(before, ahead);
        }
    }
}
