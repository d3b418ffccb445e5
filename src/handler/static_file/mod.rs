//! Files below DocumentRoot and Alias directories (httpd: core's default handler, mod_dir, mod_mime).
//!
//! Registered as `default-handler`. What a proxy needs beside its exclusions: index files,
//! conditions, ranges, types. There are no listings, there is no way out of the root, and what is
//! no regular file is never opened.

mod answering;
mod conditions;
mod file_body;
mod handler;
mod lookup;
mod ranges;
mod types;

pub use handler::StaticFiles;
