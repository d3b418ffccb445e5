//! Connections over loopback sockets in one loop, with a handler that does what the path says.

mod bodies;
mod lives;
mod stand;
