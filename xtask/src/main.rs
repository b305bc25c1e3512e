//! `cargo xtask`: set-up, tests and measurements of the workspace.
fn main() {}
