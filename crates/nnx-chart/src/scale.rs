//! Scales of an axis, and their ticks.
//!
//! Every finite value has a position. Spans are kept as halves, because the span of two floats may
//! exceed the largest float, and no end of an axis exceeds the largest float.

/// Values whose relative difference is smaller than this are drawn as one value.
const LEAST_SHARE: f64 = 1e-9;
/// The part of a step by which a tick may be outside the axis.
const SLACK: f64 = 1e-6;
/// The smallest float above 0.
const SMALLEST: f64 = f64::from_bits(1);
/// The number of decimals, and the size of values, from which on ticks are powers of ten.
const MOST_DECIMALS: i32 = 6;
const PLAIN_BELOW: f64 = 1e6;

/// A position on an axis with its label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// The position of a value, as a fraction of the axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    pub(crate) ticks: Vec<Tick>,
}

impl Scale {
    /// A scale for whole numbers, from the first to the last one.
    pub(crate) fn integers(first: i64, last: i64, most_ticks: usize) -> Self {
        let (first, last) = (first as f64, last as f64);
        if first == last {
            // Large floats skip integers: adding 1 would not change the number.
            let beside = (first.abs() * LEAST_SHARE).max(1.0);
            return Self {
                low: first - beside,
                high: first + beside,
                log: false,
                ticks: vec![integer(first)],
            };
        }
        let step = nice_step(half_span(first, last), most_ticks).max(1.0);
        let ticks = multiples(first, last, step).into_iter();
        Self {
            low: first,
            high: last,
            log: false,
            ticks: ticks.map(|tick| integer(tick.value)).collect(),
        }
    }

    /// A scale for values; it ends at ticks.
    pub(crate) fn linear(low: f64, high: f64, most_ticks: usize) -> Self {
        let (mut low, mut high) = (low.min(high), low.max(high));
        // Near 0, the size of a value matters as much as its changes.
        if low > 0.0 && low < high * 0.3 {
            low = 0.0;
        }
        let size = low.abs().max(high.abs());
        if size == 0.0 {
            (low, high) = (0.0, 1.0);
        } else if half_span(low, high) * 2.0 <= size * LEAST_SHARE {
            let beside = (size / 2.0).max(SMALLEST);
            low = (low - beside).max(f64::MIN);
            high = (high + beside).min(f64::MAX);
        }
        let step = nice_step(half_span(low, high), most_ticks);
        // A tick cannot exceed the largest float: the axis ends at the value.
        let floor = (low / step + SLACK).floor() * step;
        let ceil = (high / step - SLACK).ceil() * step;
        low = if floor.is_finite() {
            floor.min(low)
        } else {
            low
        };
        high = if ceil.is_finite() {
            ceil.max(high)
        } else {
            high
        };
        Self {
            low,
            high,
            log: false,
            ticks: multiples(low, high, step),
        }
    }

    /// A logarithmic scale for values above 0.
    pub(crate) fn log(low: f64, high: f64, most_ticks: usize) -> Self {
        let (low, high) = (low.min(high), low.max(high));
        let (first, last) = (low.log10(), high.log10());
        if last - first <= LEAST_SHARE {
            let half = low / 2.0;
            let low = if half > 0.0 { half } else { low };
            let high = high.min(f64::MAX / 2.0) * 2.0;
            return Self::log_between(low, high, most_ticks);
        }
        let margin = (last - first) * 0.04;
        let (wide_low, wide_high) = (
            10_f64.powf(first - margin).min(low),
            10_f64.powf(last + margin).max(high),
        );
        let low = if wide_low > 0.0 { wide_low } else { low };
        let high = if wide_high.is_finite() {
            wide_high
        } else {
            high
        };
        Self::log_between(low, high, most_ticks)
    }

    fn log_between(low: f64, high: f64, most_ticks: usize) -> Self {
        let within = |value: &f64| (low..=high).contains(value);
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let of = |digits: &[u32], stride: usize| -> Vec<f64> {
            let decades = (first..=last).step_by(stride);
            let values = decades.flat_map(|exponent| {
                let values = digits.iter();
                values.map(move |digit| format!("{digit}e{exponent}").parse().unwrap_or(f64::NAN))
            });
            values.filter(within).collect()
        };
        let decades = of(&[1], 1).len();
        let stride = decades.div_ceil(most_ticks.max(1)).max(1);
        let mut values = match decades {
            // For a decade or less, there are ticks between the ends.
            0..=2 => [
                &[1, 2, 3, 4, 5, 6, 7, 8, 9][..],
                &[1, 2, 3, 5],
                &[1, 3],
                &[1],
            ]
            .into_iter()
            .map(|digits| of(digits, 1))
            .find(|values| values.len() <= most_ticks)
            .unwrap_or_default(),
            _ => of(&[1], stride),
        };
        if values.len() < 3 {
            let step = nice_step(half_span(low, high), most_ticks);
            let evenly = multiples(low, high, step);
            if evenly.len() > values.len() {
                return Self {
                    low,
                    high,
                    log: true,
                    ticks: evenly.into_iter().filter(|tick| tick.value > 0.0).collect(),
                };
            }
        }
        values.dedup();
        let ticks = values.into_iter().map(|value| tick(value, value));
        let mut ticks: Vec<Tick> = ticks.collect();
        // If one label is a power of ten, all are: `1e80`, `1e4`, `1e-72`.
        if ticks.iter().any(|tick| tick.label.contains('e')) {
            for tick in &mut ticks {
                tick.label = format!("{:e}", tick.value);
            }
        }
        Self {
            low,
            high,
            log: true,
            ticks,
        }
    }

    /// The position of a value on the axis: 0 at the beginning, 1 at the end. Rounding never moves
    /// it outside.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let (low, high, value) = if self.log {
            (self.low.log10(), self.high.log10(), value.log10())
        } else {
            (self.low, self.high, value)
        };
        // Next to 0, a float cannot represent half of a span.
        let share = match (value - low, high - low) {
            (part, span) if span.is_finite() => part / span,
            _ => half_span(low, value) / half_span(low, high),
        };
        share.clamp(0.0, 1.0)
    }
}

/// Half of the distance between two values; it is finite if they are.
fn half_span(low: f64, high: f64) -> f64 {
    high / 2.0 - low / 2.0
}

/// The smallest of 1, 2 and 5 times a power of ten with which that many ticks are enough, or the
/// largest one that is a float.
fn nice_step(half_span: f64, most_ticks: usize) -> f64 {
    let least = half_span / most_ticks.max(1) as f64 * 2.0;
    let least = least.clamp(SMALLEST, f64::MAX);
    let exponent = least.log10().floor() as i32;
    let candidates = [(1, 0), (2, 0), (5, 0), (1, 1)].map(|(digit, more)| {
        // It is parsed, because a computed power of ten is not the nearest float.
        format!("{digit}e{}", exponent.saturating_add(more))
            .parse()
            .unwrap_or(least)
    });
    // Next to 0, a power of ten may not be a float.
    let fits = |step: &f64| *step > 0.0 && *step >= least * (1.0 - LEAST_SHARE);
    let mut finite = candidates.into_iter().filter(|step| step.is_finite());
    let found = finite.clone().find(fits).or_else(|| finite.next_back());
    found.unwrap_or(least)
}

/// The multiples of a step within a range, which is some steps wide.
fn multiples(low: f64, high: f64, step: f64) -> Vec<Tick> {
    // The quotients are not exact, so they are rounded to the nearest whole number.
    let first = (low / step - SLACK).ceil();
    let last = (high / step + SLACK).floor();
    let mut ticks = Vec::new();
    let mut number = first;
    // With a step that is too small to change the number, the loop would not end.
    while number <= last && ticks.len() < 100 {
        ticks.push(tick(number * step, step));
        let next = number + 1.0;
        if next == number {
            break;
        }
        number = next;
    }
    ticks
}

/// A tick for a whole number, with all its digits.
fn integer(value: f64) -> Tick {
    // The numbers of the axis have 64 bits; a float beyond them is a rounding error.
    let label = (value as i64).to_string();
    Tick { value, label }
}

/// A tick whose label has enough digits to differ from its neighbours.
fn tick(value: f64, step: f64) -> Tick {
    // No `-0`.
    let value = if value == 0.0 { 0.0 } else { value };
    let place = step.abs().log10().floor() as i32;
    let decimals = place.saturating_neg().max(0);
    let label = if value == 0.0 {
        "0".to_owned()
    } else if decimals <= MOST_DECIMALS && value.abs() < PLAIN_BELOW {
        format!("{value:.*}", decimals as usize)
    } else {
        let digits = (value.abs().log10().floor() as i32)
            .saturating_sub(place)
            .clamp(0, 15);
        format!("{value:.*e}", digits as usize)
    };
    Tick { value, label }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn ticks_of_values_are_round_and_enclose_them() {
        let scale = Scale::linear(0.885, 1.307, 6);
        assert_eq!(
            labels(&scale),
            ["0.8", "0.9", "1.0", "1.1", "1.2", "1.3", "1.4"]
        );
        assert_eq!(scale.share(0.8), 0.0);
        assert!((scale.share(1.4) - 1.0).abs() < 1e-12);
        assert_eq!(
            labels(&Scale::linear(0.1, 0.9, 6)),
            ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels(&Scale::linear(-3.0, 4.0, 6)),
            ["-4", "-2", "0", "2", "4"]
        );
    }

    #[test]
    fn one_value_has_room_around_it() {
        assert_eq!(
            labels(&Scale::linear(0.0, 0.0, 5)),
            ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        let scale = Scale::linear(0.5, 0.5, 5);
        assert!(
            scale.share(0.5) > 0.2 && scale.share(0.5) < 0.8,
            "{scale:?}"
        );
    }

    #[test]
    fn integers_have_no_decimals() {
        assert_eq!(labels(&Scale::integers(0, 2, 8)), ["0", "1", "2"]);
        assert_eq!(
            labels(&Scale::integers(0, 99, 6)),
            ["0", "20", "40", "60", "80"]
        );
        assert_eq!(labels(&Scale::integers(7, 7, 6)), ["7"]);
        assert_eq!(
            labels(&Scale::integers(999_999, 1_000_001, 6)),
            ["999999", "1000000", "1000001"]
        );
        assert_eq!(
            labels(&Scale::integers(0, 20_000_000, 3)),
            ["0", "10000000", "20000000"]
        );
        assert_eq!(Scale::integers(7, 7, 6).share(7.0), 0.5);
    }

    #[test]
    fn logarithmic_ticks_fit_the_span() {
        assert_eq!(
            labels(&Scale::log(1e-4, 1.0, 6)),
            ["0.0001", "0.001", "0.01", "0.1", "1"]
        );
        assert_eq!(labels(&Scale::log(0.21, 0.9, 6)), ["0.2", "0.3", "0.5"]);
        assert_eq!(
            labels(&Scale::log(0.885, 1.307, 6)),
            ["0.9", "1.0", "1.1", "1.2", "1.3"]
        );
        let scale = Scale::log(1e-8, 1e8, 6);
        assert_eq!(labels(&scale), ["1e-6", "1e-3", "1e0", "1e3", "1e6"]);
    }

    #[test]
    fn an_axis_fits_values_next_to_0() {
        assert_eq!(
            labels(&Scale::linear(1e-300, 5e-300, 6)),
            ["0", "1e-300", "2e-300", "3e-300", "4e-300", "5e-300"]
        );
        let tiny = [1e-290, 1e-300, 1e-307, 1e-310, 1e-320, 1e-322, 5e-324];
        for (low, high) in tiny
            .into_iter()
            .flat_map(|size| [(0.0, size), (-size, size)])
        {
            let scale = Scale::linear(low, high, 6);
            assert!(scale.share(high) - scale.share(low) > 0.3, "{scale:?}");
        }
        for size in tiny {
            let scale = Scale::linear(size, size, 6);
            assert!(
                scale.share(size) > 0.1 && scale.share(size) < 0.9,
                "{scale:?}"
            );
        }
    }

    /// Every sign of every size that a float has, and neighbours.
    fn extremes() -> Vec<f64> {
        let mut values = vec![
            0.0,
            1.0,
            1.0 + f64::EPSILON,
            1e15,
            1e15 + 1.0,
            0.3,
            1e290,
            1e-290,
        ];
        for size in [
            5e-324,
            1e-323,
            1e-320,
            1e-310,
            f64::MIN_POSITIVE,
            1e-300,
            1e-289,
        ] {
            values.extend([size, size * 1.5]);
        }
        for size in [1e300, 1e306, 8.9e307, 1e308, 1.1e308, 1.7e308, f64::MAX] {
            values.extend([size, size * 0.999_999, size.next_down()]);
        }
        let negative: Vec<f64> = values.iter().map(|value| -value).collect();
        values.extend(negative);
        values
    }

    /// The ends, the values between them, and the ticks, at the positions of the scale.
    #[track_caller]
    fn check_extreme(name: &str, scale: &Scale, low: f64, high: f64) {
        let between = [0.25, 0.5, 0.75].map(|part| low * (1.0 - part) + high * part);
        let ticks = scale.ticks.iter().map(|tick| tick.value);
        let mut values: Vec<f64> = ticks.collect();
        values.extend([low, high]);
        values.extend(between);
        for value in values {
            let share = scale.share(value);
            assert!(
                (0.0..=1.0).contains(&share),
                "{name} {low:e} to {high:e}: {value:e} is at {share} of {scale:?}"
            );
        }
        assert!(scale.share(low) <= scale.share(high), "{name} {scale:?}");
        assert!(
            scale.low.is_finite() && scale.high.is_finite() && scale.low < scale.high,
            "{name} {low:e} to {high:e}: {scale:?}"
        );
        let ticks = scale.ticks.len();
        assert!(
            (1..=20).contains(&ticks),
            "{name} {low:e} to {high:e}: {scale:?}"
        );
        let rising = scale
            .ticks
            .windows(2)
            .all(|pair| pair[0].value < pair[1].value);
        assert!(rising, "{name} {low:e} to {high:e}: {scale:?}");
    }

    #[test]
    fn no_value_is_too_large_or_small() {
        let values = extremes();
        for low in &values {
            for high in values.iter().filter(|high| low <= *high) {
                for most_ticks in [3, 6, 8] {
                    let scale = Scale::linear(*low, *high, most_ticks);
                    check_extreme("linear", &scale, *low, *high);
                    if *low > 0.0 {
                        let scale = Scale::log(*low, *high, most_ticks);
                        check_extreme("log", &scale, *low, *high);
                    }
                }
            }
        }
    }

    /// The ends of an axis are apart, unless they are one value to a chart.
    #[test]
    fn extreme_values_are_apart() {
        for (low, high) in [
            (-1e308, 1e308),
            (f64::MIN, f64::MAX),
            (f64::MIN, -1e308),
            (1e308, f64::MAX),
            (0.0, 1e308),
        ] {
            let scale = Scale::linear(low, high, 6);
            let apart = scale.share(high) - scale.share(low);
            assert!(apart > 0.4, "{low:e} to {high:e}: {scale:?}");
            assert!(scale.ticks.len() >= 3, "{low:e} to {high:e}: {scale:?}");
        }
        let scale = Scale::log(5e-324, f64::MAX, 6);
        assert!(
            scale.share(f64::MAX) - scale.share(5e-324) > 0.8,
            "{scale:?}"
        );
    }

    #[test]
    fn no_integer_is_too_large_or_small() {
        let numbers = [
            i64::MIN,
            i64::MIN + 1,
            -1,
            0,
            1,
            1 << 53,
            i64::MAX - 1,
            i64::MAX,
        ];
        for first in numbers {
            for last in numbers.into_iter().filter(|last| first <= *last) {
                let scale = Scale::integers(first, last, 6);
                check_extreme("integers", &scale, first as f64, last as f64);
            }
        }
        let scale = Scale::integers(i64::MIN, i64::MAX, 6);
        assert_eq!(
            (scale.share(i64::MIN as f64), scale.share(i64::MAX as f64)),
            (0.0, 1.0)
        );
    }
}
