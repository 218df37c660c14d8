//! The layouts of tensors, and which of them have bytes.

/// The layout of a tensor that has only a dtype and a shape.
pub(crate) const META: &str = "meta";

/// Whether a tensor of that layout has plain bytes. A tensor on the meta device has none; the bytes
/// of a sparse or nested tensor are those of its parts.
pub(crate) fn has_bytes(layout: &str) -> bool {
    matches!(layout, "strided" | "quantized")
}
