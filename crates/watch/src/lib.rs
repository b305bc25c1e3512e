//! Knows when an agent has really finished: reads the records that its CLI keeps, and never writes to them.
