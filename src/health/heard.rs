//! Who was heard of lately, for the file of HeartbeatStorage.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use crate::clock::Mono;
use crate::codec::heartbeat::Heartbeat;

/// A server not heard of for longer is forgotten.
pub(super) const FORGET: Duration = Duration::from_secs(30);
/// Servers remembered at once.
const MOST: usize = 4096;
/// Of these, at one address: one sender of made-up ports must not fill the table.
const MOST_AT_ONE: usize = 64;

/// The port of a backend that names none.
const PORT: u16 = 80;

/// There is no place for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    /// Of this address.
    #[error("{MOST_AT_ONE} ports of this address are known already")]
    Address,
    /// At all.
    #[error("{MOST} servers are known already")]
    Table,
}

/// Servers as the file tells them apart: by address, then by port.
#[derive(Debug, Default)]
pub(super) struct Heard {
    servers: HashMap<IpAddr, BTreeMap<u16, (Heartbeat, Mono)>>,
    /// Of all addresses together.
    count: usize,
}

impl Heard {
    /// Keeps the newest of a server.
    pub fn note(&mut self, ip: IpAddr, beat: Heartbeat, at: Mono) -> Result<(), Full> {
        let port = beat.port.unwrap_or(PORT);
        let known = self.servers.get(&ip);
        let place = known.and_then(|ports| ports.get(&port));
        match place {
            Some((_, seen)) if *seen > at => return Ok(()),
            Some(_) => {}
            None if known.is_some_and(|ports| ports.len() >= MOST_AT_ONE) => {
                return Err(Full::Address);
            }
            None if self.count >= MOST => return Err(Full::Table),
            None => self.count += 1,
        }
        self.servers.entry(ip).or_default().insert(port, (beat, at));
        Ok(())
    }

    /// Leaves out who was not heard of for long.
    pub fn forget_old(&mut self, now: Mono) {
        self.servers.retain(|_, ports| {
            ports.retain(|_, (_, seen)| now.since(*seen) <= FORGET);
            !ports.is_empty()
        });
        self.count = self.servers.values().map(BTreeMap::len).sum();
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Heard::default();
    }

    /// All of them, with the time when they were heard.
    pub fn all(&self) -> impl Iterator<Item = (IpAddr, &Heartbeat, Mono)> {
        let of = |(ip, ports): (&IpAddr, _)| {
            let (ip, ports): (IpAddr, &BTreeMap<_, (Heartbeat, Mono)>) = (*ip, ports);
            ports.values().map(move |(beat, at)| (ip, beat, *at))
        };
        self.servers.iter().flat_map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(port: u16) -> Heartbeat {
        Heartbeat {
            port: Some(port),
            busy: 0,
            ready: 1,
        }
    }

    fn address(n: usize) -> IpAddr {
        IpAddr::from([10, 0, (n / 256) as u8, (n % 256) as u8])
    }

    /// Whoever sends made-up ports keeps no other server out.
    #[test]
    fn one_address_has_its_share_of_the_table_only() {
        let mut heard = Heard::default();
        let now = Mono(1_000_000_000);
        let taken = (1..=u16::MAX).filter(|p| heard.note(address(0), beat(*p), now).is_ok());
        assert_eq!(taken.count(), MOST_AT_ONE);
        assert_eq!(heard.note(address(0), beat(7), now), Ok(()));
        assert_eq!(heard.note(address(0), beat(700), now), Err(Full::Address));
        assert_eq!(heard.note(address(1), beat(700), now), Ok(()));
        assert_eq!(heard.all().count(), MOST_AT_ONE + 1);
    }

    #[test]
    fn the_table_is_bounded_and_has_room_again_when_old_ones_are_forgotten() {
        let mut heard = Heard::default();
        let early = Mono(1_000_000_000);
        let all = (0..MOST + 5).map(|n| heard.note(address(n), beat(1), early));
        assert_eq!(all.filter(|done| *done == Err(Full::Table)).count(), 5);
        let late = early + FORGET + Duration::from_secs(1);
        assert_eq!(heard.note(address(0), beat(1), late), Ok(()));
        // What is older than what is known changes nothing.
        assert_eq!(heard.note(address(0), beat(1), early), Ok(()));
        heard.forget_old(late);
        assert_eq!(heard.all().count(), 1);
        assert_eq!(heard.note(address(9), beat(1), late), Ok(()));
    }
}
