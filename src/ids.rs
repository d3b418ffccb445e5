//! Small numbers that name things, each with a type of its own so that they cannot be mixed up.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// The number as an index into the table it belongs to.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A child's place within its generation, counted from 0.
    ChildNo,
    u16
);
id!(
    /// A row of the scoreboard's child table (all generations share the table).
    SlotNo,
    u16
);
id!(
    /// One configuration, counted from 0 at the first start.
    Generation,
    u32
);
id!(
    /// A server of the configuration: 0 is the main server, the others are virtual hosts in file order.
    ServerNo,
    u16
);
id!(
    /// A worker (a backend in httpd's sense) of one generation: an index into `Settings::workers`.
    WorkerNo,
    u16
);
id!(
    /// A balancer of one generation: an index into `Settings::balancers`.
    BalancerNo,
    u16
);
id!(
    /// A listening socket of one generation: an index into `Settings::listens`.
    ListenNo,
    u16
);
id!(
    /// A log target of one generation: an index into `Settings::log_targets`.
    LogNo,
    u16
);
id!(
    /// A section of one server (`<Location>`, `<Directory>` ...): an index into `Server::sections`.
    SectionNo,
    u16
);
