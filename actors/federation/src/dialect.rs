//! The SQL dialect of the engine's parser: PostgreSQL's, corrected where the parser's own version differs.

use std::any::TypeId;

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// PostgreSQL's dialect, without arguments that are named by an expression: the parser reads each argument of a function
/// twice to find them, so that functions inside each other take time that doubles with each of them.
#[derive(Debug)]
pub(crate) struct Bounded;

const POSTGRESQL: PostgreSqlDialect = PostgreSqlDialect {};

/// Whether the operator behind a value follows that only PostgreSQL has.
fn is_isnull(parser: &Parser<'_>) -> bool {
    let Token::Word(word) = &parser.peek_token_ref().token else { return false };
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case("ISNULL")
}

macro_rules! as_postgresql {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool {
            POSTGRESQL.$name()
        })*
    };
    ($($name:ident($given:ident: $type:ty) -> $answer:ty;)*) => {
        $(fn $name(&self, $given: $type) -> $answer {
            POSTGRESQL.$name($given)
        })*
    };
}

impl Dialect for Bounded {
    fn dialect(&self) -> TypeId {
        POSTGRESQL.dialect()
    }

    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    /// A text may go on in the next line (PostgreSQL, §4.1.2.1).
    fn supports_string_literal_concatenation_with_newline(&self) -> bool {
        true
    }

    /// The parser takes everything that follows, even an AND, for the right side of `IS DISTINCT FROM`, and ISNULL for a
    /// label.
    fn parse_infix(&self, parser: &mut Parser<'_>, left: &Expr, _: u8) -> Option<Result<Expr, ParserError>> {
        if is_isnull(parser) {
            parser.advance_token();
            return Some(Ok(Expr::IsNull(Box::new(left.clone()))));
        }
        let is_distinct = parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]);
        if !is_distinct && !parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]) {
            return None;
        }
        let (left, right) = (Box::new(left.clone()), parser.parse_subexpr(self.prec_value(Precedence::Is)));
        let compared = if is_distinct { Expr::IsDistinctFrom } else { Expr::IsNotDistinctFrom };
        Some(right.map(|right| compared(left, Box::new(right))))
    }

    /// PostgreSQL reads `>-3` as `> -3` and `>/**/3` as `> 3`. The operators that go on with one of these are not there.
    fn is_custom_operator_part(&self, character: char) -> bool {
        POSTGRESQL.is_custom_operator_part(character) && !matches!(character, '+' | '-' | '*' | '/')
    }

    /// A match with a regular expression binds as `||` does (`%left Op OPERATOR` in PostgreSQL's `gram.y`); to the parser it
    /// is a comparison.
    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        if matches!(
            parser.peek_token_ref().token,
            Token::Tilde
                | Token::TildeAsterisk
                | Token::ExclamationMarkTilde
                | Token::ExclamationMarkTildeAsterisk
                | Token::DoubleTilde
                | Token::DoubleTildeAsterisk
                | Token::ExclamationMarkDoubleTilde
                | Token::ExclamationMarkDoubleTildeAsterisk
        ) {
            return Some(Ok(self.prec_value(Precedence::Pipe)));
        }
        if is_isnull(parser) {
            return Some(Ok(self.prec_value(Precedence::Is)));
        }
        POSTGRESQL.get_next_precedence(parser)
    }

    as_postgresql! {
        identifier_quote_style(identifier: &str) -> Option<char>;
        is_delimited_identifier_start(character: char) -> bool;
        is_identifier_start(character: char) -> bool;
        is_identifier_part(character: char) -> bool;
        is_reserved_for_identifier(keyword: Keyword) -> bool;
        prec_value(precedence: Precedence) -> u8;
    }

    as_postgresql! {
        allow_extract_custom allow_extract_single_quotes supports_array_typedef_with_brackets
        supports_bitwise_shift_operators supports_comma_separated_trim supports_empty_projections
        supports_explain_with_utility_options supports_factorial_operator supports_filter_during_aggregation
        supports_geometric_types supports_group_by_expr supports_interval_options
        supports_named_fn_args_with_colon_operator supports_nested_comments supports_notnull_operator
        supports_numeric_literal_underscores supports_select_wildcard_with_alias supports_string_escape_constant
        supports_unicode_string_literal supports_xml_expressions
    }
}
