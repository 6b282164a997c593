//! Searches parameter types that the server accepts if the values' own types are refused. Types change for as few
//! values as possible, and the server accepts a value where it accepts the same literal.

use std::sync::Arc;

use tokio_postgres::types::Type;

use crate::postgres::bind::argument_types::{
    array_at_last, at_last, named, named_array, named_but_text, named_json, own, takes, text_at_last,
};
use crate::postgres::bind::attempts::{Attempts, Found, Refused, Split};
use crate::postgres::bind::split_parameters::{SplitParameters, together};
use portico_core::call::Argument;
use portico_core::error::Result;

/// Ways that are looked for which values need other types.
const MOST_SEARCHED: usize = 128;
/// The number of values near the refused position whose types are changed one by one.
const NEAR: usize = 8;

/// The maximal number of occurrences that are examined for GROUP BY.
const MOST_PLACES: usize = 256;
/// How many tokens before and after two occurrences must match for them to be taken as one expression; tried in
/// order.
const ALIKE: [(usize, usize); 5] = [(3, 0), (2, 0), (0, 2), (2, 2), (1, 1)];

type TypeOf = fn(&Argument) -> Type;

impl Attempts<'_> {
    /// Prepares the statement so that a value means what the same literal would.
    pub(super) async fn literally(&mut self) -> Result<Found> {
        let (execution, as_it_stands) = (self.execution, None);
        let split = SplitParameters::of_strings(&execution.text, execution.arguments()).map(Arc::new);
        // As one parameter all places of a value would have the type of the first, without a word.
        let is_alike = match self.first(&split).await? {
            Some(found) if split.is_none() || is_needed(&found) => return Ok(found),
            found => found.is_some(),
        };
        if is_alike {
            return match self.first(&as_it_stands).await? {
                Some(found) => Ok(found),
                None => self.first(&split).await?.ok_or_else(|| self.refused()),
            };
        }
        if let Some(found) = Box::pin(self.ways(&split)).await? {
            return Ok(found);
        }
        if self.was_grouping()
            && let Some(split) = split
            && let Some(found) = Box::pin(self.grouped(&split)).await?
        {
            return Ok(found);
        }
        Err(self.refused())
    }

    /// Prepares the statement if casts in it give the types of its values.
    pub(super) async fn by_casts(&mut self) -> Result<Found> {
        for type_ in [(|_| Type::UNKNOWN) as TypeOf, own, text_at_last, array_at_last] {
            if let Some(found) = self.attempt(&None, self.each(&None, type_)).await? {
                return Ok(found);
            }
        }
        Err(self.refused())
    }

    fn each(&self, split: &Split, type_: TypeOf) -> Vec<Type> {
        self.given(split).into_iter().map(type_).collect()
    }

    /// Tries the values' own types; nearly all statements need no more. The types that the caller names choose
    /// among overloads, and decide whether a value is an array.
    async fn first(&mut self, split: &Split) -> Result<Option<Found>> {
        let is_overloaded = self.execution.is_overloaded && split.is_none();
        let types: &[TypeOf] = if is_overloaded { &[named_array, named_json, named, own] } else { &[own] };
        for type_ in types {
            if let Some(found) = self.attempt(split, self.each(split, *type_)).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The statement with other types than its values' own; where that does not help, with a parameter for each place of
    /// a number too, if some of these have the types of their places.
    async fn ways(&mut self, split: &Split) -> Result<Option<Found>> {
        if let Some(found) = self.literal_ways(split).await? {
            return Ok(Some(found));
        }
        let (text, arguments) = (&self.execution.text, self.execution.arguments());
        let numbers = SplitParameters::of_numbers(split.as_deref(), text, arguments).map(Arc::new);
        if numbers.is_none() {
            return Ok(None);
        }
        match self.attempt(&numbers, self.each(&numbers, own)).await? {
            None => self.taken(&numbers, own).await,
            found => Ok(found),
        }
    }

    /// Tries other types than the values' own: those that the caller names, those inferred for numbers, and text
    /// for values without a type.
    async fn literal_ways(&mut self, split: &Split) -> Result<Option<Found>> {
        if let Some(found) = self.named(split).await? {
            return Ok(Some(found));
        }
        for type_ in [own, named_but_text] {
            if let Some(found) = self.taken(split, type_).await? {
                return Ok(Some(found));
            }
        }
        // A string without an inferred type is text. So is NULL, if a name is both a type and several functions: a
        // value that is not a literal is not taken for a cast.
        let type_ = if self.is_ambiguous() { at_last } else { text_at_last };
        self.attempt(split, self.each(split, type_)).await
    }

    /// Tries to share a parameter between occurrences of a value only in an expression of GROUP BY or DISTINCT: the
    /// source compares such expressions by their parameters. The source decides which these are; similar ones are
    /// tried first.
    async fn grouped(&mut self, apart: &SplitParameters) -> Result<Option<Found>> {
        let (text, arguments) = (&self.execution.text, self.execution.arguments());
        let split = |sharing: &[usize]| SplitParameters::with(text, arguments, sharing.into()).map(Arc::new);
        let together = together(text, arguments).unwrap_or_default();
        let mut ways: Vec<Vec<usize>> = Vec::new();
        let alike = if together.len() > MOST_PLACES { &[][..] } else { &ALIKE };
        for (in_front, behind) in alike {
            let alike = portico_sql::alike_parameters(text, *in_front, *behind);
            let places = apart.sharing.iter().zip(alike).enumerate();
            ways.push(places.map(|(place, (own, alike))| if *own == place { alike } else { *own }).collect());
        }
        ways.push(together.into_iter().map(|place| place.first).collect());
        let mut found = None;
        for sharing in ways {
            if let Some(taken) = self.way(&split(&sharing)).await? {
                found = Some((taken, sharing));
                break;
            }
        }
        let Some((mut found, mut sharing)) = found else { return Ok(None) };
        // Undoes sharing that is not needed: for all occurrences that share a parameter, or for each of them.
        let mut shared: Vec<Vec<usize>> = Vec::new();
        for first in 0..sharing.len().min(MOST_PLACES) {
            let places: Vec<usize> = (first..sharing.len()).filter(|place| sharing[*place] == first).collect();
            if places.len() > 1 && apart.sharing[places[1]] == places[1] {
                let each = places.iter().skip(1).take(NEAR).map(|place| vec![*place]);
                shared.extend([places.clone()].into_iter().chain(each.filter(|_| places.len() > 2)));
            }
        }
        for places in shared {
            let mut apart = sharing.clone();
            for place in places {
                apart[place] = place;
            }
            if apart != sharing
                && let Some(taken) = self.way(&split(&apart)).await?
            {
                (found, sharing) = (taken, apart);
            }
        }
        let (inferred, types) = found;
        self.attempt(&inferred.split, types).await
    }

    /// The statement so, with the types that it needs.
    async fn way(&mut self, split: &Split) -> Result<Option<Found>> {
        match self.first(split).await? {
            Some(found) => Ok(Some(found)),
            None if self.is_grouping(split, &self.each(split, own)) => Ok(None),
            None => self.ways(split).await,
        }
    }

    /// Tries the types that the caller names for strings and NULLs, if the source needs them: only those that
    /// change what the source refuses.
    async fn named(&mut self, split: &Split) -> Result<Option<Found>> {
        let given = self.given(split);
        let other = named_but_text;
        let is_named = |(_, value): &(usize, &&Argument)| other(value) != own(value);
        let values: Vec<usize> = given.iter().enumerate().filter(is_named).map(|(at, _)| at).collect();
        let with = |set: &[usize]| -> Vec<Type> {
            let mut types: Vec<Type> = given.iter().map(|value| own(value)).collect();
            for at in set {
                types[*at] = other(given[*at]);
            }
            types
        };
        if values.is_empty() {
            return Ok(None);
        }
        let all = self.attempt(split, with(&values)).await?;
        if values.len() == 1 {
            return Ok(all);
        }
        let is_same = self.refused_with(split, &with(&values)) == self.refused_with(split, &with(&[]));
        if all.is_none() && is_same {
            return Ok(None);
        }
        let (mut sets, mut searched) = (vec![Vec::new()], 0);
        while let Some(set) = sets.pop() {
            let before = self.refused_with(split, &with(&set));
            let (mut accepted, mut moved) = (Vec::new(), Vec::<(Option<Refused>, Vec<usize>)>::new());
            let others: Vec<usize> = values.iter().copied().filter(|at| !set.contains(at)).collect();
            for at in self.nearest(split, before.as_ref(), &others).iter().take(NEAR) {
                let types = with(&[set.as_slice(), &[*at]].concat());
                searched += 1;
                if self.attempt(split, types.clone()).await?.is_some() {
                    accepted.push(*at);
                    continue;
                }
                let now = self.refused_with(split, &types);
                match moved.iter_mut().find(|(known, _)| *known == now) {
                    _ if now == before => {}
                    Some((_, group)) => group.push(*at),
                    None => moved.push((now, vec![*at])),
                }
            }
            // Each of them is needed for the same.
            if !accepted.is_empty() {
                return self.attempt(split, with(&[set.as_slice(), accepted.as_slice()].concat())).await;
            }
            if searched > MOST_SEARCHED || self.is_exhausted() {
                break;
            }
            for (_, group) in moved.into_iter().rev() {
                let wider = [set.as_slice(), group.as_slice()].concat();
                if let Some(found) = self.attempt(split, with(&wider)).await? {
                    return Ok(Some(found));
                }
                sets.push(wider);
            }
        }
        self.attempt(split, with(&values)).await
    }

    /// Tries the types that the source infers for numbers and truth values, if it accepts them in no other way: for
    /// as few values as possible, for the others mean what literals would.
    async fn taken(&mut self, split: &Split, type_: TypeOf) -> Result<Option<Found>> {
        let given = self.given(split);
        let literal = self.each(split, type_);
        let numbers: Vec<usize> =
            given.iter().enumerate().filter(|(_, value)| own(value) != Type::UNKNOWN).map(|(at, _)| at).collect();
        if numbers.is_empty() {
            return Ok(None);
        }
        let Some((open, (inferred, mut types))) = self.opened(split, &literal, &numbers).await? else {
            return Ok(None);
        };
        for at in &open {
            let inferred = &inferred.statement.params()[*at];
            types[*at] = if takes(given[*at], inferred) { inferred.clone() } else { literal[*at].clone() };
        }
        let Some(found) = self.attempt(split, types).await? else { return Ok(None) };
        let Some((inferred, types)) = self.fewest(split, &literal, &numbers, found).await? else { return Ok(None) };
        // Where the source infers the same by itself it is asked each time: a table may be another by then.
        let mut open = types.clone();
        for at in numbers.iter().filter(|at| literal[**at] != types[**at]) {
            open[*at] = Type::UNKNOWN;
        }
        match self.attempt(split, open).await? {
            Some(found) if found.0.statement.params() == inferred.statement.params() => Ok(Some(found)),
            _ => self.attempt(split, types).await,
        }
    }

    /// The statement that was `found`, with as many of the `numbers` of their own types as it can have.
    async fn fewest(
        &mut self,
        split: &Split,
        literal: &[Type],
        numbers: &[usize],
        found: Found,
    ) -> Result<Option<Found>> {
        let mut types = found.1;
        let others: Vec<usize> = numbers.iter().copied().filter(|at| literal[*at] != types[*at]).collect();
        // Halves of them, and halves of these.
        let (one, other) = others.split_at(others.len() / 2);
        let mut parts = if others.len() > 1 { vec![other, one] } else { Vec::new() };
        while let Some(part) = parts.pop().filter(|_| !self.is_exhausted()) {
            let mut closed = types.clone();
            for at in part {
                closed[*at] = literal[*at].clone();
            }
            match self.attempt(split, closed).await? {
                Some(found) => types = found.1,
                None if part.len() > 1 => {
                    let (one, other) = part.split_at(part.len() / 2);
                    parts.extend([other, one]);
                }
                None => {}
            }
        }
        self.attempt(split, types).await
    }

    /// Returns the `numbers` whose types the source infers, and the statement prepared so: all of them, or, if it
    /// then finds several meanings, one after the other as long as each changes what it refuses.
    async fn opened(
        &mut self,
        split: &Split,
        literal: &[Type],
        numbers: &[usize],
    ) -> Result<Option<(Vec<usize>, Found)>> {
        if let Some(found) = self.attempt(split, open(literal, numbers)).await? {
            return Ok(Some((numbers.to_vec(), found)));
        }
        // If the refusal stays the same, the type of a number is not its cause.
        if self.refused_with(split, &open(literal, numbers)) == self.refused_with(split, literal) {
            return Ok(None);
        }
        match self.opened_but_some(split, literal, numbers).await? {
            None => self.opened_few(split, literal, numbers).await,
            found => Ok(found),
        }
    }

    /// Some of them have a meaning of their own alone: one after the other stays as it is.
    async fn opened_but_some(
        &mut self,
        split: &Split,
        literal: &[Type],
        numbers: &[usize],
    ) -> Result<Option<(Vec<usize>, Found)>> {
        let mut set = numbers.to_vec();
        for _ in 0..MOST_SEARCHED {
            if self.is_exhausted() {
                break;
            }
            let before = self.refused_with(split, &open(literal, &set));
            let mut fewer = None;
            for but in self.nearest(split, before.as_ref(), &set).iter().take(2) {
                let others: Vec<usize> = set.iter().copied().filter(|at| at != but).collect();
                if let Some(found) = self.attempt(split, open(literal, &others)).await? {
                    return Ok(Some((others, found)));
                }
                if fewer.is_none() && self.refused_with(split, &open(literal, &others)) != before {
                    fewer = Some(others);
                }
            }
            let Some(fewer) = fewer else { break };
            set = fewer;
        }
        Ok(None)
    }

    /// Few of them need the type of their place, each in turn where the source refuses.
    async fn opened_few(
        &mut self,
        split: &Split,
        literal: &[Type],
        numbers: &[usize],
    ) -> Result<Option<(Vec<usize>, Found)>> {
        let near = |ways: &Self, set: &[usize]| {
            let others: Vec<usize> = numbers.iter().copied().filter(|at| !set.contains(at)).collect();
            let mut near = ways.nearest(split, ways.refused_with(split, &open(literal, set)).as_ref(), &others);
            near.truncate(NEAR);
            near.reverse();
            near
        };
        let mut steps = vec![(Vec::new(), near(self, &[]))];
        for _ in 0..MOST_SEARCHED {
            let Some((set, others)) = steps.last_mut().filter(|_| !self.is_exhausted()) else { break };
            let Some(at) = others.pop() else {
                steps.pop();
                continue;
            };
            let (before, wider) = (open(literal, set), [set.as_slice(), &[at]].concat());
            let types = open(literal, &wider);
            if self.refused_with(split, &types).is_some() {
                continue;
            }
            if let Some(found) = self.attempt(split, types.clone()).await? {
                return Ok(Some((wider, found)));
            }
            if self.refused_with(split, &types) != self.refused_with(split, &before) {
                let near = near(self, &wider);
                steps.push((wider, near));
            }
        }
        Ok(None)
    }
}

/// Returns the types, with those at `numbers` left to the source.
fn open(literal: &[Type], numbers: &[usize]) -> Vec<Type> {
    let mut types = literal.to_vec();
    for at in numbers {
        types[*at] = Type::UNKNOWN;
    }
    types
}

/// Whether one value has places of different types.
fn is_needed((inferred, _): &Found) -> bool {
    inferred.split.as_ref().is_some_and(|split| split.differ(inferred.statement.params()))
}
