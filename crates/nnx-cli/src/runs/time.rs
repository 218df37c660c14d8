//! Points in time as text.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 86_400;

/// A time in UTC to the second, `2026-11-30T04:44:46Z`; `None` for a time before 1970.
pub(super) fn utc(moment: SystemTime) -> Option<String> {
    let seconds = moment.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let (year, month, day) = date(seconds / SECONDS_A_DAY);
    let second = seconds % SECONDS_A_DAY;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
    ))
}

/// Year, month and day of the Gregorian calendar, from the number of days since 1 January 1970.
///
/// Years begin in March here, so that the day that leap years add is the last one.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_IN_400_YEARS: u64 = 146_097;
    /// From 1 March of the year 0 to 1 January 1970.
    const BEFORE_1970: u64 = 719_468;
    let days = days + BEFORE_1970;
    let (era, day) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let leap_days = day / 1460 - day / 36_524 + day / (DAYS_IN_400_YEARS - 1);
    let year = (day - leap_days) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // 153 days are five months from March on, and from August on.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = 400 * era + year;
    match month {
        0..=9 => (year, month + 3, day),
        _ => (year + 1, month - 9, day),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Expected texts are those of `date -u -d @SECONDS +%FT%TZ`.
    #[track_caller]
    fn check(seconds: u64, expected: &str) {
        let moment = UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(utc(moment).as_deref(), Some(expected));
    }

    #[test]
    fn moments_in_utc() {
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_399, "2000-02-28T23:59:59Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(951_868_800, "2000-03-01T00:00:00Z");
        check(1_735_689_599, "2024-12-31T23:59:59Z");
        check(1_796_013_886, "2026-11-30T04:44:46Z");
        check(4_107_542_400, "2100-03-01T00:00:00Z");
        assert_eq!(utc(UNIX_EPOCH - Duration::from_secs(1)), None);
    }
}
