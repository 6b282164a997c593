//! A queue that serves addresses in turn: an address with many requests waits behind its own.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use crate::limits::ClientAddress;

/// A queue for each address.
pub(crate) struct FairQueue<W> {
    waiting: HashMap<ClientAddress, VecDeque<W>>,
    turns: VecDeque<ClientAddress>,
}

impl<W> Default for FairQueue<W> {
    fn default() -> Self {
        Self { waiting: HashMap::new(), turns: VecDeque::new() }
    }
}

impl<W> FairQueue<W> {
    pub(crate) fn len(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    /// How many of this place wait.
    pub(crate) fn count_of(&self, place: ClientAddress) -> usize {
        self.waiting.get(&place).map_or(0, VecDeque::len)
    }

    pub(crate) fn push(&mut self, place: ClientAddress, waiter: W) {
        let own = self.waiting.entry(place).or_default();
        if own.is_empty() {
            self.turns.push_back(place);
        }
        own.push_back(waiter);
    }

    /// Removes the next item: the oldest of the address whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<W> {
        let place = self.turns.pop_front()?;
        let own = self.waiting.get_mut(&place)?;
        let next = own.pop_front();
        if own.is_empty() {
            self.waiting.remove(&place);
        } else {
            self.turns.push_back(place);
        }
        next
    }

    /// The same of a place that is drawn by lot: however many places come again and again, each that waits has a chance.
    pub(crate) fn pop_by_lot(&mut self) -> Option<W> {
        let drawn = RandomState::new().hash_one(self.turns.len());
        let drawn = usize::try_from(drawn).unwrap_or_default().checked_rem(self.turns.len())?;
        self.turns.swap(0, drawn);
        self.pop()
    }

    /// Takes the newest of the place that has most, if that has more than `than`.
    pub(crate) fn displace(&mut self, than: usize) -> Option<W> {
        let (place, _) = self.waiting.iter().filter(|(_, own)| own.len() > than).max_by_key(|(_, own)| own.len())?;
        self.waiting.get_mut(&place.clone())?.pop_back()
    }

    /// Removes the items that no longer wait.
    pub(crate) fn take_if(&mut self, gone: impl Fn(&W) -> bool) -> Vec<W> {
        let mut taken = Vec::new();
        for own in self.waiting.values_mut() {
            for waiter in std::mem::take(own) {
                if gone(&waiter) { taken.push(waiter) } else { own.push_back(waiter) }
            }
        }
        self.waiting.retain(|_, own| !own.is_empty());
        let waiting = &self.waiting;
        self.turns.retain(|place| waiting.contains_key(place));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> ClientAddress {
        text.parse().ok()
    }

    #[test]
    fn whoever_waits_has_a_chance() {
        let mut drawn = [false; 3];
        while drawn.contains(&false) {
            let mut lane = FairQueue::default();
            for number in 0..3 {
                lane.push(at(&format!("192.0.2.{number}")), number);
            }
            drawn[lane.pop_by_lot().unwrap()] = true;
            assert_eq!(lane.len(), 2);
        }
        assert_eq!(FairQueue::<u8>::default().pop_by_lot(), None);
    }

    #[test]
    fn a_lane_takes_turns_by_address() {
        let mut lane = FairQueue::default();
        let (one, two) = (at("192.0.2.1"), at("192.0.2.2"));
        for number in 0..4 {
            lane.push(one, number);
        }
        lane.push(two, 10);
        lane.push(None, 20);
        assert_eq!((lane.displace(4), lane.displace(1), lane.len()), (None, Some(3), 5));
        assert_eq!(lane.take_if(|number| *number == 1), [1]);
        let order: Vec<_> = std::iter::from_fn(|| lane.pop()).collect();
        assert_eq!((order, lane.len(), lane.count_of(one)), (vec![0, 10, 20, 2], 0, 0));
    }
}
