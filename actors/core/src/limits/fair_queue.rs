//! Round robin between waiting owners, first come first served among the items of each. A pure value, so that it
//! can be tested without time.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, RandomState};

/// How many owners, and items of each, are looked at for one that suits.
const NEAR: usize = 16;

/// Identifies a place among the waiting items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

/// Items that wait, a lane for each of their owners.
#[derive(Debug)]
pub struct FairQueue<K, T> {
    /// No lane is empty.
    lanes: HashMap<K, VecDeque<(Ticket, T)>>,
    /// The owners of the lanes, the next one in front.
    order: VecDeque<K>,
    waiting: usize,
    next: u64,
}

impl<K, T> Default for FairQueue<K, T> {
    fn default() -> Self {
        Self { lanes: HashMap::new(), order: VecDeque::new(), waiting: 0, next: 0 }
    }
}

impl<K: Clone + Eq + Hash, T> FairQueue<K, T> {
    /// How many items wait.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether no item waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// How many owners have something that waits.
    pub fn owners(&self) -> usize {
        self.order.len()
    }

    /// How many items of `owner` wait.
    pub fn count_of(&self, owner: &K) -> usize {
        self.lanes.get(owner).map_or(0, VecDeque::len)
    }

    /// Returns every item, in no order.
    pub fn into_items(self) -> impl Iterator<Item = T> {
        self.lanes.into_values().flatten().map(|(_, item)| item)
    }

    /// Adds an item, if fewer than `each` of its owner's wait. If the queue is `full`, the newest item of the longest
    /// lane makes room for it and is returned too.
    ///
    /// # Errors
    /// There is no room for the item, which is returned.
    pub fn admit(&mut self, owner: &K, item: T, each: usize, full: bool) -> Result<(Ticket, Option<T>), T> {
        if self.count_of(owner) >= each {
            return Err(item);
        }
        let displaced = if full { self.displace_for(owner) } else { None };
        if full && displaced.is_none() {
            return Err(item);
        }
        Ok((self.push(owner, item), displaced))
    }

    /// Puts an item at the end of its owner's lane.
    fn push(&mut self, owner: &K, item: T) -> Ticket {
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

    /// Removes the oldest item of the owner whose turn it is. The owner's next turn comes after all others.
    pub fn pop(&mut self) -> Option<T> {
        self.pop_where(|_| true, |_| true).map(|(_, item)| item)
    }

    /// Removes the oldest item of an owner that is drawn by lot: however many owners come again and again, each that
    /// waits has a chance.
    pub fn pop_by_lot(&mut self) -> Option<T> {
        let drawn = RandomState::new().hash_one(self.order.len());
        let drawn = usize::try_from(drawn).unwrap_or_default().checked_rem(self.order.len())?;
        self.order.swap(0, drawn);
        self.pop()
    }

    /// Removes the first item that `suits`, among the first items of the next owners that pass `may`. If none of them
    /// does, removes the first one. Its owner's next turn comes after all others.
    pub fn pop_where(&mut self, may: impl Fn(&K) -> bool, suits: impl Fn(&T) -> bool) -> Option<(K, T)> {
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
    pub fn leave(&mut self, owner: &K, ticket: Ticket) -> Option<T> {
        let lane = self.lanes.get_mut(owner)?;
        let place = lane.iter().position(|(other, _)| *other == ticket)?;
        let (_, item) = lane.remove(place)?;
        self.taken_from(owner);
        Some(item)
    }

    /// Makes room for one more item of `owner`: removes the newest item of the longest lane, if that lane
    /// stays at least as long as the owner's becomes. Else the owner asks for more than its share.
    fn displace_for(&mut self, owner: &K) -> Option<T> {
        let longest = self.order.iter().max_by_key(|other| self.count_of(other))?.clone();
        if self.count_of(&longest) <= self.count_of(owner) + 1 {
            return None;
        }
        let (_, item) = self.lanes.get_mut(&longest)?.pop_back()?;
        self.taken_from(&longest);
        Some(item)
    }

    /// How many of the items that wait have their turn before one that `owner` adds now.
    pub fn ahead_of(&self, owner: &K) -> usize {
        let own = self.count_of(owner);
        // Lanes in front of the owner's have one turn more before the new item has its.
        let mut turns = own + 1;
        let mut ahead = 0;
        for other in &self.order {
            if other == owner {
                turns = own;
            }
            ahead += self.count_of(other).min(turns);
        }
        ahead
    }

    /// Removes the items that are `gone`.
    pub fn take_if(&mut self, gone: impl Fn(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        for lane in self.lanes.values_mut() {
            for (ticket, item) in std::mem::take(lane) {
                if gone(&item) { taken.push(item) } else { lane.push_back((ticket, item)) }
            }
        }
        self.waiting -= taken.len();
        self.lanes.retain(|_, lane| !lane.is_empty());
        let lanes = &self.lanes;
        self.order.retain(|owner| lanes.contains_key(owner));
        taken
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

    #[test]
    fn whoever_waits_has_a_chance() {
        let mut drawn = [false; 3];
        while drawn.contains(&false) {
            let mut queue = FairQueue::default();
            for number in 0..3 {
                queue.push(&number, number);
            }
            drawn[queue.pop_by_lot().unwrap()] = true;
            assert_eq!(queue.len(), 2);
        }
        assert_eq!(FairQueue::<u8, u8>::default().pop_by_lot(), None);
    }

    #[test]
    fn owners_take_turns() {
        let mut queue = FairQueue::default();
        for number in 0..4 {
            queue.push(&"one", number);
        }
        queue.push(&"two", 10);
        queue.push(&"three", 20);
        assert_eq!((queue.displace_for(&"one"), queue.displace_for(&"four"), queue.len()), (None, Some(3), 5));
        let refused = [queue.admit(&"one", 30, 3, false), queue.admit(&"one", 31, 9, true)];
        assert_eq!((refused, queue.len()), ([Err(30), Err(31)], 5));
        assert_eq!(queue.take_if(|number| *number == 1), [1]);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!((order, queue.is_empty(), queue.count_of(&"one")), (vec![0, 10, 20, 2], true, 0));
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Join(u8),
        Next,
        /// The next one, where items with such a number suit better.
        NextOf(usize),
        /// One of the items that joined, counted from the first.
        Leave(usize),
        Displace(u8),
        /// Every third item that joined.
        TakeThirds(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0_u8..5).prop_map(Step::Join),
            3 => Just(Step::Next),
            1 => (0_usize..2).prop_map(Step::NextOf),
            1 => (0_usize..60).prop_map(Step::Leave),
            1 => (0_u8..5).prop_map(Step::Displace),
            1 => (0_usize..3).prop_map(Step::TakeThirds),
        ];
        proptest::collection::vec(step, 0..120)
    }

    /// The state of a test run: every granted item, and how long each one waits for a turn.
    #[derive(Default)]
    struct Played {
        queue: FairQueue<u8, (u8, usize)>,
        joined: Vec<(u8, Ticket)>,
        out: HashSet<usize>,
    }

    impl Played {
        fn play(&mut self, step: Step) -> Result<(), TestCaseError> {
            let taken = match step {
                Step::Join(owner) => {
                    let ticket = self.queue.push(&owner, (owner, self.joined.len()));
                    self.joined.push((owner, ticket));
                    None
                }
                Step::Next => self.queue.pop(),
                Step::NextOf(kind) => {
                    let suits = |(_, number): &(u8, usize)| number % 2 == kind;
                    let near = (self.queue.order.iter().take(NEAR))
                        .flat_map(|owner| self.queue.lanes.get(owner).into_iter().flatten().take(NEAR))
                        .any(|(_, item)| suits(item));
                    let next = self.queue.pop_where(|_| true, suits).map(|(_, item)| item);
                    prop_assert!(next.is_none_or(|item| suits(&item) || !near), "one that suits was passed over");
                    next
                }
                Step::Leave(which) => match self.joined.get(which) {
                    Some((owner, ticket)) => {
                        let left = self.queue.leave(owner, *ticket);
                        prop_assert_eq!(left.is_some(), !self.out.contains(&which));
                        left
                    }
                    None => None,
                },
                Step::Displace(owner) => {
                    let own = self.queue.count_of(&owner);
                    let displaced = self.queue.displace_for(&owner);
                    if let Some((loser, _)) = displaced {
                        prop_assert!(loser != owner && self.queue.count_of(&loser) > own);
                    }
                    displaced
                }
                Step::TakeThirds(rest) => {
                    for (_, number) in self.queue.take_if(|(_, number)| number % 3 == rest) {
                        prop_assert!(number % 3 == rest && self.out.insert(number), "an item came out twice");
                    }
                    None
                }
            };
            if let Some((_, number)) = taken {
                prop_assert!(self.out.insert(number), "an item came out twice");
            }
            prop_assert_eq!(self.queue.len(), self.joined.len() - self.out.len());
            prop_assert_eq!(self.queue.owners(), self.queue.lanes.len());
            prop_assert_eq!(self.queue.len(), self.queue.lanes.values().map(VecDeque::len).sum::<usize>());
            prop_assert!(self.queue.lanes.values().all(|lane| !lane.is_empty()));
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
            while let Some((owner, number)) = played.queue.pop() {
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
                    let Some(owner) = played.queue.order.front().copied() else { continue };
                    for (waiting, others) in &mut seen {
                        prop_assert!(*waiting == owner || others.insert(owner), "{} went twice before {}", owner, waiting);
                    }
                    seen.remove(&owner);
                }
                played.play(step)?;
                seen.retain(|owner, _| played.queue.lanes.contains_key(owner));
                for owner in played.queue.lanes.keys() {
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
            let ahead = played.queue.ahead_of(&owner);
            let number = played.joined.len();
            played.queue.push(&owner, (owner, number));
            let mut before = 0;
            while played.queue.pop() != Some((owner, number)) {
                before += 1;
            }
            prop_assert_eq!(before, ahead);
        }
    }
}
