//! XDR (RFC 4506) as libvirt uses it, with bounds on everything that has a length: what decodes never allocates more
//! than a small multiple of what was received.

use std::ops::Deref;

/// The longest string: 4 MiB.
pub const MAX_STRING: usize = 4_194_304;

/// What can be put into XDR and taken out of it.
pub trait Xdr: Sized {
    /// Appends it.
    ///
    /// # Errors
    /// [`EncodeError`] for what a peer would refuse to decode.
    fn encode(&self, to: &mut Encoder) -> Result<(), EncodeError>;

    /// Takes it from the front.
    ///
    /// # Errors
    /// [`DecodeError`] for bytes that do not make one.
    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError>;
}

/// What is too long for the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} has {len}, of which the protocol takes {most}")]
pub struct EncodeError {
    /// A string, a list, a packet.
    pub what: &'static str,
    /// How long it is, in bytes or items.
    pub len: usize,
    /// How long it may be.
    pub most: usize,
}

/// Why bytes do not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// They end too early.
    #[error("the message ends too early")]
    Short,
    /// Something says that it is longer than the protocol allows.
    #[error("{what} says it has {len}, of which the protocol takes {most}")]
    TooLong {
        /// A string or a list.
        what: &'static str,
        /// How long it says it is.
        len: usize,
        /// How long it may be.
        most: usize,
    },
    /// A string is not UTF-8.
    #[error("a string is not UTF-8")]
    NotUtf8,
    /// A number stands for nothing.
    #[error("{value} is no {what}")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// The number.
        value: i64,
    },
}

/// XDR under way out.
#[derive(Clone, Debug, Default)]
pub struct Encoder(Vec<u8>);

impl Encoder {
    /// An encoder that appends to what is there.
    pub fn onto(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// What was encoded.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn put_len(&mut self, what: &'static str, len: usize, most: usize) -> Result<(), EncodeError> {
        let fits = u32::try_from(len).ok().filter(|_| len <= most);
        self.put(&fits.ok_or(EncodeError { what, len, most })?.to_be_bytes());
        Ok(())
    }

    fn put_opaque(&mut self, bytes: &[u8]) {
        self.put(bytes);
        self.put(&[0; 3][..padding(bytes.len())]);
    }
}

/// XDR under way in.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'b>(&'b [u8]);

impl<'b> Decoder<'b> {
    /// Decodes from these bytes.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    /// What is left. libvirt's daemon passes over what trails arguments, and so may who calls this.
    pub fn rest(&self) -> &'b [u8] {
        self.0
    }

    fn take(&mut self, count: usize) -> Result<&'b [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn len(&mut self, what: &'static str, most: usize) -> Result<usize, DecodeError> {
        let len = u32::decode(self)? as usize;
        if len > most { Err(DecodeError::TooLong { what, len, most }) } else { Ok(len) }
    }
}

/// Encodes one value.
///
/// # Errors
/// [`EncodeError`] for what a peer would refuse.
pub fn to_bytes<T: Xdr>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder::default();
    value.encode(&mut encoder)?;
    Ok(encoder.into_bytes())
}

/// Decodes one value; what trails it is passed over, as libvirt does.
///
/// # Errors
/// [`DecodeError`] for bytes that do not make one.
pub fn from_bytes<T: Xdr>(bytes: &[u8]) -> Result<T, DecodeError> {
    T::decode(&mut Decoder::new(bytes))
}

fn padding(len: usize) -> usize {
    len.wrapping_neg() % 4
}

macro_rules! number {
    ($($number:ty),*) => {$(
        impl Xdr for $number {
            fn encode(&self, to: &mut Encoder) -> Result<(), EncodeError> {
                to.put(&self.to_be_bytes());
                Ok(())
            }

            fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                from.array().map(Self::from_be_bytes)
            }
        }
    )*};
}
number!(i32, u32, i64, u64);

impl Xdr for () {
    fn encode(&self, _: &mut Encoder) -> Result<(), EncodeError> {
        Ok(())
    }

    fn decode(_: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

impl Xdr for String {
    fn encode(&self, to: &mut Encoder) -> Result<(), EncodeError> {
        to.put_len("a string", self.len(), MAX_STRING)?;
        to.put_opaque(self.as_bytes());
        Ok(())
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let len = from.len("a string", MAX_STRING)?;
        let text = std::str::from_utf8(from.take(len)?).map_err(|_| DecodeError::NotUtf8)?.to_owned();
        from.take(padding(len))?;
        Ok(text)
    }
}

impl<T: Xdr> Xdr for Option<T> {
    fn encode(&self, to: &mut Encoder) -> Result<(), EncodeError> {
        u32::from(self.is_some()).encode(to)?;
        self.as_ref().map_or(Ok(()), |value| value.encode(to))
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match u32::decode(from)? {
            0 => Ok(None),
            1 => T::decode(from).map(Some),
            value => Err(DecodeError::Unknown { what: "presence", value: value.into() }),
        }
    }
}

/// A UUID: sixteen bytes, in the order of its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl Xdr for Uuid {
    fn encode(&self, to: &mut Encoder) -> Result<(), EncodeError> {
        to.put(&self.0);
        Ok(())
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        from.array().map(Self)
    }
}

/// As libvirt writes it: `c7a5fdbd-cdaf-9455-926a-d65c16db1809`.
impl std::fmt::Display for Uuid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if [4, 6, 8, 10].contains(&at) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// Takes what libvirt takes: 32 hexadecimal digits, with dashes and blanks wherever they stand between bytes.
impl std::str::FromStr for Uuid {
    type Err = DecodeError;

    fn from_str(text: &str) -> Result<Self, DecodeError> {
        let wrong = DecodeError::Unknown { what: "UUID", value: 0 };
        let digits = text.trim().chars().filter(|c| *c != '-');
        let digits: Option<Vec<u8>> =
            digits.map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
        let digits = digits.filter(|digits| digits.len() == 32).ok_or(wrong)?;
        let mut uuid = [0; 16];
        for (byte, pair) in uuid.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Ok(Self(uuid))
    }
}

/// Characters of which each takes four bytes, as `char name[32]` is defined in the protocol; text up to the first zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WideChars([u8; 32]);

impl WideChars {
    /// The text, as far as 31 bytes of it go.
    pub fn new(text: &str) -> Self {
        let mut chars = [0; 32];
        for (to, from) in chars.iter_mut().take(31).zip(text.bytes()) {
            *to = from;
        }
        Self(chars)
    }

    /// The text; what is no UTF-8 in it is replaced.
    pub fn text(&self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}

impl Xdr for WideChars {
    fn encode(&self, to: &mut Encoder) -> Result<(), EncodeError> {
        self.0.iter().try_for_each(|byte| u32::from(*byte).encode(to))
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let mut chars = [0; 32];
        for byte in &mut chars {
            // A char travels as an int, and a C compiler may have made it negative.
            *byte = i32::decode(from)?.to_be_bytes()[3];
        }
        Ok(Self(chars))
    }
}

/// A list of at most `MOST` items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T, const MOST: usize>(pub Vec<T>);

impl<T, const MOST: usize> Default for List<T, MOST> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MOST: usize> From<Vec<T>> for List<T, MOST> {
    fn from(items: Vec<T>) -> Self {
        Self(items)
    }
}

impl<T, const MOST: usize> Deref for List<T, MOST> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Xdr, const MOST: usize> Xdr for List<T, MOST> {
    fn encode(&self, to: &mut Encoder) -> Result<(), EncodeError> {
        to.put_len("a list", self.0.len(), MOST)?;
        self.0.iter().try_for_each(|item| item.encode(to))
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let len = from.len("a list", MOST)?;
        // No item is shorter than four bytes, so a count that the bytes do not bear out is refused before any room is
        // made for it.
        if len > from.rest().len() / 4 {
            return Err(DecodeError::Short);
        }
        // Grown as items come: a count alone, however large, makes no room.
        let mut items = Vec::new();
        for _ in 0..len {
            items.push(T::decode(from)?);
        }
        Ok(Self(items))
    }
}

/// Declares structs that travel as their fields, in order.
macro_rules! structs {
    ($(
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$says:meta])* pub $field:ident: $type:ty,)*
        }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$says])* pub $field: $type,)*
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
    )*};
}
pub(crate) use structs;
