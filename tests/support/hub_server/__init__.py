"""A local server that speaks as much of the Hugging Face Hub's HTTP API as the package uses.

>>> hub = HubServer(folder).start()
>>> token = hub.token("alice", write=("org",))
>>> hub.create_repo("org/name", files={"README.md": b"# Hello"})
>>> hub.faults.add(Fault(r"resolve/.*README.md", kind="status", status=503, times=2))
"""

from hub_server.answers import Fault
from hub_server.server import HubServer, forget, use_xet

__all__ = ["Fault", "HubServer", "forget", "use_xet"]
