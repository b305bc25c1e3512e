//! Loops, deliveries, sessions and incidents on SQLite
