//! muster: a reverse proxy and load balancer that reads Apache httpd's configuration.

pub mod balancer;
pub mod beacon;
pub mod body;
pub mod child;
pub mod cli;
pub mod clock;
pub mod codec;
pub mod config;
pub mod conn;
pub mod explain;
pub mod expr;
pub mod fault;
pub mod handler;
pub mod health;
pub mod ids;
pub mod jobs;
pub mod log;
pub mod reactor;
pub mod request;
pub mod shm;
pub mod supervisor;
pub mod sys;
pub mod upstream;
