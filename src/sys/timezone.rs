//! The machine's time zone (`TZ`, else `/etc/localtime`), which log stamps are written in.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Seconds that local time is ahead of UTC at `seconds` since 1970; 0 where it is not known.
pub fn offset(seconds: i64) -> i64 {
    local(seconds).map_or(0, |tm| tm.tm_gmtoff)
}

/// The zone's abbreviation at that time, such as `CET`.
pub fn name(seconds: i64) -> String {
    let Some(tm) = local(seconds) else {
        return "UTC".into();
    };
    if tm.tm_zone.is_null() {
        return "UTC".into();
    }
    // SAFETY: `localtime_r` set the pointer to a NUL-terminated name that glibc keeps for the
    // life of the process (it interns zone names); it is copied at once.
    let name = unsafe { std::ffi::CStr::from_ptr(tm.tm_zone) };
    name.to_string_lossy().into_owned()
}

fn local(seconds: i64) -> Option<libc::tm> {
    let mut tm = MaybeUninit::<libc::tm>::uninit();
    // SAFETY: both pointers are valid for the call; `tm` is written in full when the result is
    // not null, and read only then.
    unsafe {
        if libc::localtime_r(&seconds, tm.as_mut_ptr()).is_null() {
            return None;
        }
        Some(tm.assume_init())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_within_a_day() {
        for at in [0, 784_111_777, 1_800_000_000] {
            assert!(offset(at).abs() < 86_400);
            assert!(!name(at).is_empty());
        }
        assert_eq!(offset(i64::MAX), 0);
    }
}
