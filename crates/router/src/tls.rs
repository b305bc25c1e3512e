//! TLS for requests that leave this machine: rustls on ring, for a C compiler is all that a build may need.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// Makes ring what every HTTP client of this process encrypts with, unless another library was chosen before.
///
/// A [`reqwest::Client`] that is built without one panics; so whoever builds a client calls this, or gives it
/// [`unused`].
pub fn provide() {
    // Refused where a program that embeds the router has chosen already: its choice stands.
    let _ = ring::default_provider().install_default();
}

/// Returns the settings for a client that speaks to loopback only, over plain HTTP: it trusts nobody, and building it
/// does not read this machine's certificates, which takes longer than most commands.
///
/// # Panics
/// Never: ring knows both versions of the protocol.
pub fn unused() -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring knows both versions of the protocol")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}
