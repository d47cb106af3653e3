"""The other side: points huggingface_hub and datasets in this process at a server."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from hub_server.server import HubServer

# read by huggingface_hub when it is imported; the endpoint is set beside them
ENVIRONMENT = {
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "NO_PROXY": "127.0.0.1,localhost",
}


def point_at(hub: "HubServer", home: Path, token: str, patch: "pytest.MonkeyPatch") -> None:
    """Let clients in this process and in its children use a server, empty caches and a token."""
    import huggingface_hub.constants as constants

    if hub.endpoint != constants.ENDPOINT:
        raise RuntimeError("huggingface_hub was imported before HF_ENDPOINT was set")
    hub.client_env = {
        **ENVIRONMENT,
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(home),
        "HF_HUB_CACHE": str(home / "hub"),
        "HF_DATASETS_CACHE": str(home / "datasets"),
        "HF_TOKEN_PATH": str(home / "token"),
        "HF_TOKEN": token,
    }
    for name, value in hub.client_env.items():
        patch.setenv(name, value)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        patch.delenv(name, raising=False)
    places: dict[str, Any] = {
        "HF_HOME": str(home),
        "HF_HUB_CACHE": str(home / "hub"),
        "HUGGINGFACE_HUB_CACHE": str(home / "hub"),
        "HF_ASSETS_CACHE": str(home / "assets"),
        "HF_XET_CACHE": str(home / "xet"),
        "HF_TOKEN_PATH": str(home / "token"),
        "HF_STORED_TOKENS_PATH": str(home / "stored_tokens"),
        "AGENT_HARNESSES_PATH": str(home / ".agent_harnesses.json"),
        "HF_HUB_OFFLINE": False,
    }
    for name, value in places.items():
        patch.setattr(constants, name, value, raising=False)
    places = {
        "HF_CACHE_HOME": str(home),
        "HF_DATASETS_CACHE": home / "datasets",
        "HF_MODULES_CACHE": home / "modules",
        "DOWNLOADED_DATASETS_PATH": home / "datasets/downloads",
        "EXTRACTED_DATASETS_PATH": home / "datasets/downloads/extracted",
        "HF_HUB_OFFLINE": False,
        "HF_DATASETS_OFFLINE": False,
    }
    if config := sys.modules.get("datasets.config"):
        for name, value in places.items():
            patch.setattr(config, name, value)
    forget()


def use_xet(hub: "HubServer", patch: "pytest.MonkeyPatch") -> None:
    """Let clients in this process and in its children use xet, and try what fails only once."""
    import huggingface_hub.constants as constants

    for name, value in (("HF_HUB_DISABLE_XET", "0"), ("HF_XET_CLIENT_RETRY_MAX_ATTEMPTS", "1")):
        hub.client_env[name] = value
        patch.setenv(name, value)
    patch.setattr(constants, "HF_HUB_DISABLE_XET", False)


def forget() -> None:
    """Drop what file systems in this process remember of repositories."""
    module = sys.modules.get("huggingface_hub.hf_file_system")
    if module is not None:
        module.HfFileSystem.clear_instance_cache()


@contextmanager
def offline() -> Iterator[None]:
    """As if HF_HUB_OFFLINE=1 had been set before the clients were imported."""
    import huggingface_hub.constants as constants

    owners = [(constants, "HF_HUB_OFFLINE")]
    if config := sys.modules.get("datasets.config"):
        owners += [(config, "HF_HUB_OFFLINE"), (config, "HF_DATASETS_OFFLINE")]
    before = [(owner, name, getattr(owner, name)) for owner, name in owners]
    forget()
    try:
        for owner, name in owners:
            setattr(owner, name, True)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        forget()


def quicken(patch: "pytest.MonkeyPatch") -> list[float]:
    """Let the clients wait a hundredth of a second at most; gives the waits they asked for."""
    from huggingface_hub import file_download
    from huggingface_hub.utils import _http

    asked: list[float] = []

    class QuickTime:
        def __getattr__(self, name: str) -> Any:
            return getattr(time, name)

        @staticmethod
        def sleep(seconds: float) -> None:
            asked.append(seconds)
            time.sleep(min(seconds, 0.01))

    for module in (file_download, _http, sys.modules.get("datasets.utils.file_utils")):
        if module is not None:
            patch.setattr(module, "time", QuickTime(), raising=False)
    return asked
