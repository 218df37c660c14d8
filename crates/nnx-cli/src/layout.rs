//! Which tensors have bytes of their own.

/// The layout of a tensor that is a dtype and a shape and nothing else.
pub(crate) const META: &str = "meta";

/// Whether a tensor of that layout has plain bytes: one on the meta device has none, a sparse or
/// nested one keeps them in its parts.
pub(crate) fn has_bytes(layout: &str) -> bool {
    matches!(layout, "strided" | "quantized")
}
