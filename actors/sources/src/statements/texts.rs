//! Answers that we read ourselves, as texts.

use futures_util::StreamExt;

use portico_core::error::Result;
use portico_core::reply::{Cell, Part, Results};

/// A row of an answer that we read ourselves.
pub type TextRow = Vec<Option<String>>;

/// Returns up to `most` rows of an answer.
///
/// # Errors
/// The source's error while reading.
pub async fn texts(mut results: Results, most: usize) -> Result<Vec<TextRow>> {
    let (mut rows, mut width) = (Vec::new(), 0);
    while let Some(part) = results.next().await {
        match part? {
            Part::Columns(columns) => width = columns.len(),
            Part::Rows(batch) => {
                for row in 0..batch.rows().min(most - rows.len()) {
                    let cells = (0..width).map(|column| {
                        Ok(match batch.cell(row, column)? {
                            Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => Some(text.into_owned()),
                            Cell::Integer(number) => Some(number.to_string()),
                            Cell::Boolean(value) => Some(value.to_string()),
                            _ => None,
                        })
                    });
                    rows.push(cells.collect::<Result<Vec<_>>>()?);
                }
            }
            Part::Done { .. } => {}
        }
        if rows.len() == most {
            break;
        }
    }
    Ok(rows)
}
