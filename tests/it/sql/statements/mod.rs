//! Where statements begin and end, what stands in them, and what running them changes.

mod batch;
mod blanks;
mod dry_run;
mod literals;
mod near_names;
mod parameters;
mod parameters_grouped;
mod parameters_places;
mod placeholders;
mod script;
mod texts;
mod texts_brackets;
