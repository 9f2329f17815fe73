"""Prometheus metrics of one app, with their own registry, so that one process can have two apps."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from pcevolve_shared.wire import ModelInfo

_BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64)
_STAGE_BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
_SECONDS_BUCKETS = (0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)


class Metrics:
    """Counts, sizes and times. No label contains a caller's text."""

    def __init__(self) -> None:
        """Register every metric at zero."""
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
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
        self.tokens = Counter("pcevolve_tokens", "Tokens written and returned.", registry=registry)
        self.rejected = Counter(
            "pcevolve_images_rejected", "Images refused by the safety checker.", registry=registry
        )
        self.waiting = Gauge("pcevolve_queue_images", "Images waiting for the model.", registry=registry)
        self.stages = Histogram(
            "pcevolve_stage_seconds",
            "Time of each stage: wait, from a request's arrival to the run of its images, of each run's longest"
            " waiting one; encode (prompts, images), denoise and decode, or a language model's write_text, of each run;"
            " write, of each answer's PNG, JPEG or WebP.",
            ["stage"],
            buckets=_STAGE_BUCKETS,
            registry=registry,
        )
        self.batches = Histogram(
            "pcevolve_batch_images", "Images per model run.", buckets=_BATCH_BUCKETS, registry=registry
        )
        self.seconds = Histogram(
            "pcevolve_batch_seconds", "Time of one model run.", buckets=_SECONDS_BUCKETS, registry=registry
        )
        self.ready = Gauge("pcevolve_ready", "1 when the model answers.", registry=registry)
        self.exact = Gauge(
            "pcevolve_exact",
            "1 for the exactness with which a request is repeated; see exact in /v1/models.",
            ["model", "exact"],
            registry=registry,
        )

    def tell_exactness(self, infos: Iterable[ModelInfo]) -> None:
        self.exact.clear()
        for each in infos:
            self.exact.labels(each.id, each.exact or "not said").set(1)

    def text(self) -> bytes:
        return generate_latest(self.registry)
