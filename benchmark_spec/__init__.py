"""What FSLBench promises: protocols, schemas, digests, manifests, the catalogue and errors."""

from benchmark_spec.errors import FSLBenchError
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, SUITES, Protocol, Suite, TaskSetName
from benchmark_spec.version import SPEC_VERSION, __version__

__all__ = [
    "PUBLISHED_PROTOCOLS",
    "SPEC_VERSION",
    "SUITES",
    "FSLBenchError",
    "Protocol",
    "Suite",
    "TaskSetName",
    "__version__",
]
