//! Decodes one image: PNG, and the binary forms of PGM and PPM.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, Transformations};

use crate::error::{Error, Result};

/// More bytes of pixels than this are not decoded: the sizes in a header are only a promise.
const MOST_BYTES: usize = 1 << 28;

/// An image of 8 bits a channel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) width: usize,
    pub(super) height: usize,
    /// 1 for grey, 3 for colour.
    pub(super) channels: usize,
    /// Row by row, the channels of a pixel beside each other.
    pub(super) pixels: Vec<u8>,
}

impl Image {
    /// Decodes a file by its first bytes. Transparency is dropped.
    ///
    /// # Errors
    /// When it is neither a PNG nor a binary PGM or PPM file, is damaged, or has more than 8 bits a
    /// channel.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', ..] => decode_png(bytes),
            [b'P', b'5', ..] => decode_pnm(bytes, 1),
            [b'P', b'6', ..] => decode_pnm(bytes, 3),
            _ => Err(Error::unsupported(match other_format(bytes) {
                None => "expected a PNG image, or a PGM or PPM image in its binary form".to_owned(),
                Some(format) => format!(
                    "expected a PNG image, or a PGM or PPM image in its binary form, found a {format} \
                     image: convert it to PNG"
                ),
            })),
        }
    }

    /// The pixels in the order channel, row, column; a grey image in three channels if that many are
    /// asked for.
    pub(super) fn planes(&self, channels: usize) -> impl Iterator<Item = u8> {
        (0..channels).flat_map(move |channel| {
            let own = channel.min(self.channels - 1);
            self.pixels.iter().skip(own).step_by(self.channels).copied()
        })
    }
}

/// The name of a format that is known, and not decoded: two decoders of JPEG give different pixels, so
/// that a training would no longer be that of Python.
fn other_format(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0xff, 0xd8, 0xff, ..] => "JPEG",
        [b'B', b'M', ..] => "BMP",
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => "TIFF",
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => "WebP",
        [b'P', b'1' | b'4', ..] => "PBM",
        [b'P', b'2' | b'3', ..] => "textual PGM or PPM",
        _ => return None,
    })
}

fn decode_png(bytes: &[u8]) -> Result<Image> {
    let damaged =
        |error: png::DecodingError| Error::data(format!("the PNG image is damaged: {error}"));
    let limits = png::Limits { bytes: MOST_BYTES };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    // A palette and fewer than 8 bits become 8 bits a channel.
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(damaged)?;
    let (colour, depth) = reader.output_color_type();
    if depth != BitDepth::Eight {
        return Err(Error::unsupported(
            "PNG images of 16 bits a channel are not read, only those of up to 8",
        ));
    }
    let (stored, channels) = match colour {
        ColorType::Grayscale => (1, 1),
        ColorType::GrayscaleAlpha => (2, 1),
        ColorType::Rgba => (4, 3),
        ColorType::Rgb | ColorType::Indexed => (3, 3),
    };
    let size = reader
        .output_buffer_size()
        .filter(|size| *size <= MOST_BYTES);
    let size = size.ok_or_else(|| Error::data("the PNG image is too large"))?;
    let mut decoded = zeros(size)?;
    let frame = reader.next_frame(&mut decoded).map_err(damaged)?;
    let (width, height) = (frame.width as usize, frame.height as usize);
    decoded.truncate(frame.buffer_size());
    if stored != channels {
        let kept = decoded
            .chunks(stored)
            .flat_map(|pixel| pixel.iter().take(channels));
        decoded = kept.copied().collect();
    }
    checked(width, height, channels, decoded)
}

/// A PGM or PPM image: its kind, width, height and largest value as texts with comments between them,
/// one white space, and the pixels.
fn decode_pnm(bytes: &[u8], channels: usize) -> Result<Image> {
    let mut rest = bytes.get(2..).unwrap_or_default();
    let mut next = || -> Result<usize> {
        loop {
            rest = rest.trim_ascii_start();
            let Some(comment) = rest.strip_prefix(b"#") else {
                break;
            };
            let end = comment.iter().position(|byte| *byte == b'\n');
            rest = comment
                .get(end.unwrap_or(comment.len())..)
                .unwrap_or_default();
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, behind) = rest.split_at(digits);
        rest = behind;
        let number = std::str::from_utf8(number).unwrap_or_default();
        number.parse().map_err(|_| {
            Error::data(
                "expected width, height and the largest value in the header of a PGM or PPM image",
            )
        })
    };
    let (width, height, most) = (next()?, next()?, next()?);
    if most != 255 {
        return Err(Error::unsupported(format!(
            "expected a PGM or PPM image with the largest value `255`, found `{most}`"
        )));
    }
    let pixels = rest.get(1..).unwrap_or_default();
    let size = { width.checked_mul(height) }.and_then(|size| size.checked_mul(channels));
    let found = pixels.len();
    let pixels = size.and_then(|size| pixels.get(..size)).ok_or_else(|| {
        Error::data(format!(
            "an image of `{width}` x `{height}` pixels does not fit the `{found}` bytes after its header"
        ))
    })?;
    checked(width, height, channels, pixels.to_vec())
}

fn checked(width: usize, height: usize, channels: usize, pixels: Vec<u8>) -> Result<Image> {
    let size = { width.checked_mul(height) }.and_then(|size| size.checked_mul(channels));
    if pixels.is_empty() || size != Some(pixels.len()) {
        return Err(Error::data(format!(
            "an image of `{width}` x `{height}` pixels does not have `{}` bytes",
            pixels.len()
        )));
    }
    Ok(Image {
        width,
        height,
        channels,
        pixels,
    })
}

fn zeros(size: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(size)
        .map_err(|_| Error::unsupported(format!("there is no memory for `{size}` bytes")))?;
    bytes.resize(size, 0);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_may_have_comments() {
        let bytes = b"P6 # a comment\n1 #2\n 2\n255\n\x01\x02\x03\x04\x05\x06";
        let image = Image::decode(bytes).unwrap();
        assert_eq!((image.width, image.height, image.channels), (1, 2, 3));
        let planes: Vec<u8> = image.planes(3).collect();
        assert_eq!(planes, [1, 4, 2, 5, 3, 6]);
        let grey = Image::decode(b"P5 2 1 255 \x07\x08").unwrap();
        assert_eq!(grey.planes(3).collect::<Vec<_>>(), [7, 8, 7, 8, 7, 8]);
    }

    #[track_caller]
    fn check_refused(bytes: &[u8], expected: &str) {
        let error = Image::decode(bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn damaged_images_are_refused() {
        check_refused(b"", "expected a PNG image");
        check_refused(b"GIF89a", "expected a PNG image");
        check_refused(b"\xff\xd8\xff\xe0", "found a JPEG image: convert it to PNG");
        check_refused(b"RIFF\0\0\0\0WEBPVP8 ", "found a WebP image");
        check_refused(b"P2 1 1 255 7", "found a textual PGM or PPM image");
        check_refused(b"P1 1 1 0", "found a PBM image");
        check_refused(b"P4 1 1 \x00", "found a PBM image");
        check_refused(b"\x89PNG", "the PNG image is damaged");
        for header in ["P5", "P5 #", "P5 1", "P5 1 1", "P5 a", "P5 -1 1 255 "] {
            check_refused(header.as_bytes(), "in the header of a PGM or PPM image");
        }
        check_refused(b"P5 99999999999999999999 1 255 ", "in the header");
        check_refused(
            b"P5 4294967296 4294967296 255 \0",
            "does not fit the `1` bytes",
        );
        check_refused(b"P5 0 0 255 ", "does not have `0` bytes");
        check_refused(b"P6 1 1 255 \0\0", "does not fit the `2` bytes");
    }

    #[test]
    fn an_image_of_promised_gigabytes_is_refused_before_memory_is_taken() {
        // The header of a grey PNG of 65535 x 65535 pixels, by the `png` crate, without pixels.
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 65_535, 65_535);
        encoder.set_color(ColorType::Grayscale);
        let _ = encoder.write_header().unwrap();
        check_refused(&bytes, "PNG image");
    }
}
