"""Prometheus metrics of one app; a registry of its own, so that two apps can live in one process."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64)
_SECONDS_BUCKETS = (0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)


class Metrics:
    """Counts, sizes and times; no label ever holds text that a caller wrote."""

    def __init__(self) -> None:
        """Register every metric at zero."""
        registry = self.registry = CollectorRegistry()
        self.requests = Counter(
            "pcevolve_requests", "Requests answered.", ["route", "status"], registry=registry
        )
        self.latency = Histogram(
            "pcevolve_request_seconds",
            "Time to answer.",
            ["route"],
            buckets=_SECONDS_BUCKETS,
            registry=registry,
        )
        self.images = Counter("pcevolve_images", "Images generated and returned.", registry=registry)
        self.rejected = Counter(
            "pcevolve_images_rejected", "Images refused by the safety checker.", registry=registry
        )
        self.waiting = Gauge("pcevolve_queue_images", "Images waiting for the model.", registry=registry)
        self.waited = Histogram(
            "pcevolve_wait_seconds",
            "Time from a request's arrival to the run of its images; of each run's longest waiting one.",
            buckets=_SECONDS_BUCKETS,
            registry=registry,
        )
        self.encoded = Histogram(
            "pcevolve_encode_seconds",
            "Time to write an answer's images as PNG, JPEG or WebP.",
            buckets=_SECONDS_BUCKETS,
            registry=registry,
        )
        self.batches = Histogram(
            "pcevolve_batch_images", "Images per model run.", buckets=_BATCH_BUCKETS, registry=registry
        )
        self.seconds = Histogram(
            "pcevolve_batch_seconds", "Time of one model run.", buckets=_SECONDS_BUCKETS, registry=registry
        )
        self.ready = Gauge("pcevolve_ready", "1 when the model answers.", registry=registry)

    def text(self) -> bytes:
        """Return the exposition format."""
        return generate_latest(self.registry)
