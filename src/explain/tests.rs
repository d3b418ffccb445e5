//! The text for small configurations, made without a server.
