//! The float32 operations that PyTorch's kernels for AVX2 and AVX-512 make an update of: with fused
//! multiply-add where they have it, and each other operation rounded on its own.
//!
//! All are inlined, so that they use the instructions that their caller was compiled for.

/// `a.add_(b, alpha=alpha)`: a + alpha · b, rounded once.
#[inline(always)]
pub(super) fn add(a: &mut [f32], b: &[f32], alpha: f32) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = b.mul_add(alpha, *a);
    }
}

/// `a.mul_(factor)`.
#[inline(always)]
pub(super) fn mul(a: &mut [f32], factor: f32) {
    for a in a {
        *a *= factor;
    }
}

/// `a.neg_()`.
#[inline(always)]
pub(super) fn neg(a: &mut [f32]) {
    for a in a {
        *a = -*a;
    }
}

/// `a.lerp_(end, weight)`.
#[inline(always)]
pub(super) fn lerp(a: &mut [f32], end: &[f32], weight: f32) {
    if weight.abs() < 0.5 {
        for (a, end) in a.iter_mut().zip(end) {
            *a = weight.mul_add(end - *a, *a);
        }
    } else {
        let weight = weight - 1.0;
        for (a, end) in a.iter_mut().zip(end) {
            *a = weight.mul_add(end - *a, *end);
        }
    }
}

/// `a.addcmul_(b, c, value=value)`: a + (value · b) · c, the last two rounded as one.
#[inline(always)]
pub(super) fn add_product(a: &mut [f32], b: &[f32], c: &[f32], value: f32) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = (value * b).mul_add(*c, *a);
    }
}

/// `a.addcdiv_(b, c, value=value)`: a + (value · b) / c, three roundings.
#[inline(always)]
pub(super) fn add_quotient(a: &mut [f32], b: &[f32], c: &[f32], value: f32) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a += value * b / c;
    }
}

/// `torch.maximum(a, b, out=a)`: a NaN on either side wins.
#[inline(always)]
pub(super) fn maximum(a: &mut [f32], b: &[f32]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = if *a > *b || a.is_nan() { *a } else { *b };
    }
}

/// `(a.sqrt_() / divisor).add_(eps)`.
#[inline(always)]
pub(super) fn denominator(a: &mut [f32], divisor: f32, eps: f32) {
    for a in a {
        *a = a.sqrt() / divisor + eps;
    }
}
