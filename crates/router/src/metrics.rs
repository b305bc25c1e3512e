//! Five counters and two gauges for `/metrics`, in the OpenMetrics text format.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What this router has done since it started.
pub(crate) struct Counters {
    registry: Registry,
    /// Notices followed.
    pub(crate) notices: Counter,
    /// Wakes with a receipt.
    pub(crate) delivered: Counter,
    /// Tries that failed.
    pub(crate) failed: Counter,
    /// Wakes after which an agent settled without a section.
    pub(crate) unanswered: Counter,
    /// Requests refused for want of the key.
    pub(crate) refused: Counter,
    /// Deliveries that are open now.
    pub(crate) open: Gauge,
    /// Loops known now.
    pub(crate) loops: Gauge,
}

impl Default for Counters {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("loop");
        let counters = [
            ("notices", "Notices followed"),
            ("delivered", "Wakes with a receipt"),
            ("failed", "Tries to wake that failed"),
            ("unanswered", "Wakes after which the agent settled without a section"),
            ("refused", "Requests refused for want of the key"),
        ]
        .map(|(name, help)| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        });
        let gauges = [("open_deliveries", "Deliveries that are open"), ("loops", "Loops known")].map(
            |(name, help)| {
                let gauge = Gauge::<i64>::default();
                registry.register(name, help, gauge.clone());
                gauge
            },
        );
        let [notices, delivered, failed, unanswered, refused] = counters;
        let [open, loops] = gauges;
        Self { registry, notices, delivered, failed, unanswered, refused, open, loops }
    }
}

impl Counters {
    /// The text for `/metrics`.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
