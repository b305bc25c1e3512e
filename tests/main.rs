//! End-to-end tests: the program `loop` as its users run it, with real git and real terminals.
//!
//! Every scenario plays on a [`stage`]: a user with a home, a router and a tmux server of their own. What was really
//! submitted to the scripted agents stands in their own logs, so what `loop` claims is compared with what happened.
#![allow(clippy::unwrap_used)]

mod bad_input;
mod cast;
mod conversations;
mod crash;
mod demo;
mod handshake;
mod headless;
mod hookless;
mod limits;
mod lost_windows;
mod neighbours;
mod opening;
mod person;
mod real_agents;
mod screens;
mod settled;
mod stage;
mod started_again;
mod tell;
mod this_repository;
mod turn_hooks;
mod undoing;
mod unruly;
mod untouched;
mod windows;
mod workspace;
