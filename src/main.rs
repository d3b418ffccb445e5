//! The program: hands the command line and the children's entry function over.

use std::ffi::OsString;

fn main() {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    let program = if args.is_empty() {
        OsString::from("muster")
    } else {
        args.remove(0)
    };
    std::process::exit(muster::cli::main(&program, &args, muster::child::run))
}
