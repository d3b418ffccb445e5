//! Why an announcement has no effect.

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Why an announcement was dropped. The number is its place in the table's counters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Refusal { $($(#[$doc])* $name,)* }

        impl Refusal {
            /// All of them by number, which is about the order of the checks.
            pub const ALL: &'static [Refusal] = &[$(Refusal::$name,)*];

            /// The words for logs and pages.
            pub fn text(self) -> &'static str {
                match self { $(Refusal::$name => $text,)* }
            }
        }
    };
}

refusals! {
    /// No byte at all; not counted and not logged.
    Empty = "empty datagram",
    /// Longer than 2048 bytes.
    Oversized = "oversized datagram",
    /// It holds a NUL byte.
    Nul = "nul in datagram",
    /// There is no ` mac=`.
    NoMac = "no mac",
    /// Not 16 or 64 bytes stand behind it.
    MacLength = "bad mac length",
    /// `ProxyBeaconMac` does not take this kind.
    MacAlgorithm = "mac algorithm not accepted",
    /// Another key, or another text.
    MacMismatch = "mac mismatch",
    /// Not the grammar.
    Format = "bad format",
    /// No time stamp.
    NoTs = "no ts",
    /// Not 1 to 18 digits.
    BadTs = "bad ts",
    /// The clocks differ by more than `ProxyBeaconMaxSkew`.
    Stale = "stale timestamp",
    /// Not an origin that may be a member.
    Url = "unacceptable url",
    /// `route=` is too long.
    Route = "bad route",
    /// `loadfactor=` is not 1 to 100.
    LoadFactor = "bad loadfactor",
    /// `state=` is not `leaving`.
    State = "bad state",
    /// Not newer than the newest one of this URL.
    Replayed = "replayed/reordered ts",
    /// All records are in use.
    TableFull = "member table full",
    /// The balancer has no room, or there is no such balancer.
    AddFailed = "balancer add failed (full?)",
    /// The configuration or an administrator owns the member.
    NotManaged = "member not managed by beacon",
    /// `ProxyBeaconAllow` does not name where it leads.
    NotAllowed = "url not allowed",
}

impl Refusal {
    /// From its number.
    pub fn by_number(n: u8) -> Option<Refusal> {
        Refusal::ALL.get(usize::from(n)).copied()
    }
}
