//! Macros that delegate [`ScalarUDFImpl`](datafusion::logical_expr::ScalarUDFImpl) methods to a field.

/// The method `signature`, which returns the field `signature`.
macro_rules! own_signature {
    () => {
        fn signature(&self) -> &::datafusion::logical_expr::Signature {
            &self.signature
        }
    };
}

/// Methods of [`ScalarUDFImpl`](datafusion::logical_expr::ScalarUDFImpl) that are delegated to the field `inner`.
macro_rules! of_inner {
    ($($method:ident)*) => {
        $(of_inner!(@ $method);)*
    };
    (@ name) => {
        fn name(&self) -> &str {
            self.inner.name()
        }
    };
    (@ aliases) => {
        fn aliases(&self) -> &[String] {
            self.inner.aliases()
        }
    };
    (@ return_type) => {
        fn return_type(
            &self,
            types: &[::arrow_schema::DataType],
        ) -> ::datafusion::common::Result<::arrow_schema::DataType> {
            self.inner.return_type(types)
        }
    };
    (@ return_field_from_args) => {
        fn return_field_from_args(
            &self,
            args: ::datafusion::logical_expr::ReturnFieldArgs<'_>,
        ) -> ::datafusion::common::Result<::arrow_schema::FieldRef> {
            self.inner.return_field_from_args(args)
        }
    };
    (@ simplify) => {
        fn simplify(
            &self,
            args: Vec<::datafusion::logical_expr::Expr>,
            info: &::datafusion::logical_expr::simplify::SimplifyContext,
        ) -> ::datafusion::common::Result<::datafusion::logical_expr::simplify::ExprSimplifyResult> {
            self.inner.simplify(args, info)
        }
    };
    (@ invoke_with_args) => {
        fn invoke_with_args(
            &self,
            args: ::datafusion::logical_expr::ScalarFunctionArgs,
        ) -> ::datafusion::common::Result<::datafusion::logical_expr::ColumnarValue> {
            self.inner.invoke_with_args(args)
        }
    };
}

/// Makes two functions one where the same field of both is the same.
macro_rules! same_by {
    ($function:ty, $($field:ident).+) => {
        impl PartialEq for $function {
            fn eq(&self, other: &Self) -> bool {
                self.$($field).+ == other.$($field).+
            }
        }

        impl Eq for $function {}

        impl ::std::hash::Hash for $function {
            fn hash<H: ::std::hash::Hasher>(&self, state: &mut H) {
                self.$($field).+.hash(state);
            }
        }
    };
}

pub(in crate::functions) use {of_inner, own_signature, same_by};
