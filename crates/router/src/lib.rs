//! The router: relay, courier and the HTTP service
