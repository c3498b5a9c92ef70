//! Declares the calls of a module: their arguments as structs, their procedures and their answers.

/// Each line is a call: its name, which is its procedure's; its arguments; and after the arrow what answers it.
macro_rules! calls {
    ($(
        $(#[$about:meta])*
        $name:ident { $($field:ident: $type:ty),* $(,)? } -> $reply:ty;
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // The arguments are named as in libvirt's own documentation of the function.
        pub struct $name {
            $(pub $field: $type,)*
        }

        impl $crate::xdr::Xdr for $name {
            fn encode(&self, to: &mut $crate::xdr::Encoder) -> Result<(), $crate::xdr::EncodeError> {
                $($crate::xdr::Xdr::encode(&self.$field, to)?;)*
                let _ = to;
                Ok(())
            }

            fn decode(from: &mut $crate::xdr::Decoder<'_>) -> Result<Self, $crate::xdr::DecodeError> {
                let _ = &from;
                Ok(Self { $($field: $crate::xdr::Xdr::decode(from)?,)* })
            }
        }

        impl $crate::procedure::Call for $name {
            const PROCEDURE: $crate::procedure::Procedure = $crate::procedure::Procedure::$name;
            type Reply = $reply;
        }
    )*};
}
pub(crate) use calls;
