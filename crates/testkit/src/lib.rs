//! Sandboxes and scripted agents for tests
