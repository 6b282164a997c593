//! Limits how much of a resource one holder and all holders together have at a time. What is taken is returned on
//! drop.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::error::{self, Error, Kind};
use crate::mutex::lock;

/// The amounts taken, by holder.
#[derive(Debug)]
pub struct Shares<K>(Arc<Mutex<Taken<K>>>);

#[derive(Debug)]
struct Taken<K> {
    all: usize,
    by: HashMap<K, usize>,
}

/// The limits on what can be taken.
#[derive(Clone, Copy, Debug)]
pub struct ShareLimits {
    /// For each holder.
    pub each: usize,
    /// For all together.
    pub all: usize,
}

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareExceeded {
    /// That of the holder.
    Each,
    /// That of all holders together.
    All,
}

/// The amount that one holder has taken; returned on drop.
#[derive(Debug)]
pub struct Share<K: Eq + Hash> {
    shares: Shares<K>,
    holder: K,
    amount: usize,
}

/// The amount that one holder has taken, and the holder's limits.
#[derive(Debug)]
pub struct Allowance<K: Eq + Hash> {
    share: Share<K>,
    most: ShareLimits,
}

impl<K: Eq + Hash + Clone> Allowance<K> {
    /// Takes `amount` more.
    ///
    /// # Errors
    /// Not enough is left; what was taken before is kept.
    pub fn grow(&mut self, amount: usize) -> Result<(), ShareExceeded> {
        self.share.grow(amount, self.most)
    }

    /// Takes `octets` more bytes for an answer in preparation (`server.max_answers`).
    ///
    /// # Errors
    /// [`Kind::Busy`]: not enough is left.
    pub fn prepare(&mut self, octets: usize) -> error::Result<()> {
        self.grow(octets).map_err(|short| {
            let whose = if short == ShareExceeded::Each { " for this principal" } else { "" };
            let words = format!("the service is busy: answers{whose} hold as many bytes as it prepares at once");
            Error::new(Kind::Busy, words)
                .retry_after(Duration::from_secs(1))
                .hint("ask for fewer rows or columns at once, or try again when other answers have been read")
        })
    }
}

impl<K> Clone for Shares<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Taken { all: 0, by: HashMap::new() })))
    }
}

impl<K: Eq + Hash + Clone> Shares<K> {
    /// Takes `amount` for `holder`.
    ///
    /// # Errors
    /// Not enough is left.
    pub fn take(&self, holder: K, amount: usize, most: ShareLimits) -> Result<Share<K>, ShareExceeded> {
        let mut share = self.nothing(holder);
        share.grow(amount, most)?;
        Ok(share)
    }

    fn nothing(&self, holder: K) -> Share<K> {
        Share { shares: self.clone(), holder, amount: 0 }
    }

    /// Returns an allowance for `holder`, from which nothing is taken yet.
    pub fn room(&self, holder: K, most: ShareLimits) -> Allowance<K> {
        Allowance { share: self.nothing(holder), most }
    }

    /// Returns the amount taken by all holders.
    pub fn taken(&self) -> usize {
        self.lock().all
    }
}

impl<K> Shares<K> {
    fn lock(&self) -> MutexGuard<'_, Taken<K>> {
        lock(&self.0)
    }
}

impl<K: Eq + Hash + Clone> Share<K> {
    /// Takes `amount` more.
    ///
    /// # Errors
    /// Not enough is left; what was taken before is kept.
    pub fn grow(&mut self, amount: usize, most: ShareLimits) -> Result<(), ShareExceeded> {
        let mut taken = self.shares.lock();
        let own = taken.by.get(&self.holder).copied().unwrap_or_default();
        if own + amount > most.each {
            return Err(ShareExceeded::Each);
        }
        if taken.all + amount > most.all {
            return Err(ShareExceeded::All);
        }
        taken.all += amount;
        match taken.by.get_mut(&self.holder) {
            Some(own) => *own += amount,
            None => drop(taken.by.insert(self.holder.clone(), amount)),
        }
        self.amount += amount;
        Ok(())
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        if self.amount == 0 {
            return;
        }
        let mut taken = self.shares.lock();
        taken.all -= self.amount;
        match taken.by.get_mut(&self.holder) {
            Some(own) if *own > self.amount => *own -= self.amount,
            _ => drop(taken.by.remove(&self.holder)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_counted_for_its_holder_and_for_all_until_it_is_given_back() {
        let (shares, most) = (Shares::default(), ShareLimits { each: 3, all: 4 });
        let mut ann = shares.take("ann", 1, most).unwrap();
        ann.grow(2, most).unwrap();
        assert_eq!(ann.grow(1, most), Err(ShareExceeded::Each));
        assert_eq!(shares.take("ann", 1, most).unwrap_err(), ShareExceeded::Each);
        let bob = shares.take("bob", 1, most).unwrap();
        assert_eq!(shares.take("eve", 1, most).unwrap_err(), ShareExceeded::All);
        assert_eq!(shares.taken(), 4);
        drop(ann);
        let eve = shares.take("eve", 3, most).unwrap();
        drop((bob, eve));
        assert_eq!((shares.taken(), shares.lock().by.len()), (0, 0), "who has nothing is remembered");
    }
}
