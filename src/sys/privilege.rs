//! User, group and limits.

use std::ffi::CString;
use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{self, Gid, Group, Uid, User};

/// Whom the children run as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
    /// Supplementary groups, `gid` among them.
    pub groups: Vec<u32>,
    /// The user's name, or its number.
    pub user: String,
}

/// What `identity` found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The process is not root: it stays what it is.
    Unchanged,
    /// The named user, or www-data or nobody (`assumed`) where none is named.
    Become {
        /// Whom.
        identity: Identity,
        /// Nobody was named.
        assumed: bool,
    },
}

/// A user or group that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadIdentity {
    /// Not in the user database.
    #[error("bad user name {0}")]
    User(String),
    /// Not in the group database.
    #[error("bad group name {0}")]
    Group(String),
    /// Children that meet the network may not be root.
    #[error("User {0} is root: children never run as root; name another user, such as www-data")]
    Root(String),
    /// None is named and none of the usual ones exists.
    #[error(
        "started as root without User, and there is neither www-data nor nobody; set User and Group"
    )]
    Nobody,
}

/// Whether this process is root.
pub fn is_root() -> bool {
    unistd::geteuid().is_root()
}

/// Finds out whom children shall run as. Names may be numbers with `#` in front.
///
/// # Errors
/// See [`BadIdentity`].
pub fn identity(user: Option<&str>, group: Option<&str>) -> Result<Choice, BadIdentity> {
    if !is_root() {
        return Ok(Choice::Unchanged);
    }
    resolve(user, group)
}

/// As [`identity`], whoever this process is.
///
/// # Errors
/// See [`BadIdentity`].
pub fn resolve(user: Option<&str>, group: Option<&str>) -> Result<Choice, BadIdentity> {
    let (found, name) = match user {
        Some(name) => (lookup_user(name)?, name.to_owned()),
        None => ["www-data", "nobody"]
            .iter()
            .find_map(|n| lookup_user(n).ok().map(|u| (u, (*n).to_owned())))
            .ok_or(BadIdentity::Nobody)?,
    };
    let (uid, primary, login) = found;
    if uid == 0 {
        return Err(BadIdentity::Root(name));
    }
    let gid = match group {
        Some(g) => lookup_group(g)?,
        None => primary,
    };
    let groups = supplementary(login.as_deref(), gid);
    Ok(Choice::Become {
        identity: Identity {
            uid,
            gid,
            groups,
            user: name,
        },
        assumed: user.is_none(),
    })
}

/// A group's name, or `#` and its number where it has none.
pub fn group_name(gid: u32) -> String {
    let known = Group::from_gid(Gid::from_raw(gid)).ok().flatten();
    known.map_or_else(|| format!("#{gid}"), |g| g.name)
}

/// Becomes somebody for good: groups, then group, then user.
///
/// # Errors
/// `EPERM` when this process is not root.
pub fn become_identity(who: &Identity) -> io::Result<()> {
    let groups: Vec<Gid> = who.groups.iter().map(|g| Gid::from_raw(*g)).collect();
    unistd::setgroups(&groups)?;
    unistd::setgid(Gid::from_raw(who.gid))?;
    unistd::setuid(Uid::from_raw(who.uid))?;
    if unistd::setuid(Uid::from_raw(0)).is_ok() {
        return Err(io::Error::other("root could be taken back after setuid"));
    }
    Ok(())
}

/// Raises the limit of open descriptors to the hard limit; root lifts that to `wanted` first where
/// it is lower. Gives the limit that holds then.
///
/// # Errors
/// Of `setrlimit`; the limit is as it was.
pub fn raise_descriptor_limit(wanted: u64) -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let lifted = hard.max(wanted);
    if is_root() && lifted > hard && setrlimit(Resource::RLIMIT_NOFILE, lifted, lifted).is_ok() {
        return Ok(lifted);
    }
    // A hard limit without a bound ("infinity") would make children size tables by it.
    let target = hard.min(CEILING).max(soft);
    setrlimit(Resource::RLIMIT_NOFILE, target, hard)?;
    Ok(target)
}

const CEILING: u64 = 1 << 20;

fn lookup_user(name: &str) -> Result<(u32, u32, Option<String>), BadIdentity> {
    let bad = || BadIdentity::User(name.to_owned());
    if let Some(number) = name.strip_prefix('#') {
        let uid: u32 = number.parse().map_err(|_| bad())?;
        let known = User::from_uid(Uid::from_raw(uid)).ok().flatten();
        // A number without an entry is fine in a container; its group is the same number then.
        return Ok(match known {
            Some(u) => (uid, u.gid.as_raw(), Some(u.name)),
            None => (uid, uid, None),
        });
    }
    let user = User::from_name(name).ok().flatten().ok_or_else(bad)?;
    Ok((user.uid.as_raw(), user.gid.as_raw(), Some(user.name)))
}

fn lookup_group(name: &str) -> Result<u32, BadIdentity> {
    let bad = || BadIdentity::Group(name.to_owned());
    if let Some(number) = name.strip_prefix('#') {
        return number.parse().map_err(|_| bad());
    }
    let group = Group::from_name(name).ok().flatten().ok_or_else(bad)?;
    Ok(group.gid.as_raw())
}

fn supplementary(login: Option<&str>, gid: u32) -> Vec<u32> {
    login
        .and_then(|l| CString::new(l).ok())
        .and_then(|l| unistd::getgrouplist(&l, Gid::from_raw(gid)).ok())
        .map_or_else(|| vec![gid], |g| g.iter().map(|g| g.as_raw()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_unknown_names_are_refused() {
        assert!(matches!(
            resolve(Some("root"), None),
            Err(BadIdentity::Root(_))
        ));
        assert!(matches!(
            resolve(Some("#0"), None),
            Err(BadIdentity::Root(_))
        ));
        assert!(matches!(
            resolve(Some("no-such-user"), None),
            Err(BadIdentity::User(_))
        ));
        assert!(matches!(
            resolve(Some("#12345"), Some("no-such-group")),
            Err(BadIdentity::Group(_))
        ));
    }

    #[test]
    fn numbers_need_no_entry() {
        let Ok(Choice::Become { identity, assumed }) = resolve(Some("#54321"), Some("#54322"))
        else {
            panic!("not resolved")
        };
        assert_eq!((identity.uid, identity.gid), (54321, 54322));
        assert_eq!(identity.groups, [54322]);
        assert!(!assumed);
    }

    #[test]
    fn the_descriptor_limit_never_falls() {
        let before = getrlimit(Resource::RLIMIT_NOFILE).unwrap().0;
        assert!(raise_descriptor_limit(0).unwrap() >= before.min(CEILING));
    }
}
