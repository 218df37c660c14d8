//! Dates of HTTP (RFC 9110, section 5.6.7).

use std::time::{Duration, SystemTime};

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Reads a date in one of the three forms that a reply may have: `Sun, 06 Nov 1994 08:49:37 GMT`,
/// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let words: Vec<&str> = text
        .split([' ', ',', '-'])
        .filter(|word| !word.is_empty())
        .collect();
    let (day, month, year, time) = match words.as_slice() {
        [_, day, month, year, time, "GMT"] => (day, month, year, time),
        [_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let year = match (year.len(), year.parse::<u64>().ok()?) {
        (2, year @ 70..) => 1900 + year,
        (2, year) => 2000 + year,
        (4, year @ 1970..) => year,
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| name == month)?;
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let mut parts = time.split(':').map(|part| part.parse::<u64>().ok());
    let [
        Some(hour @ 0..24),
        Some(minute @ 0..60),
        Some(second @ 0..=60),
        None,
    ] = [(); 4].map(|()| parts.next().flatten())
    else {
        return None;
    };
    let days = days_before(year, month) + day - 1;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Days from 1970 to the first of a month.
fn days_before(year: u64, month: usize) -> u64 {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let past = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969);
    let in_year = BEFORE.get(month).copied().unwrap_or_default();
    past + in_year + u64::from(is_leap && month > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The date of RFC 9110 in its three forms; the others by `date -u -d … +%s` of coreutils.
    #[test]
    fn dates_are_those_of_the_rfc() {
        for (text, seconds) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
            ("Sat, 01 Mar 2025 00:00:00 GMT", 1_740_787_200),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 31 Dec 2099 12:00:00 GMT", 4_102_401_600),
        ] {
            let expected = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for wrong in [
            "",
            "120",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
            "Sun, 06 Nov 0001 08:49:37 GMT",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
