"""Xet: what clients are told of it, and the storage behind it, which is hf_xet's own on a disk.

A `HubServer` says in `xet` whether it has it: "off" as a Hub of long ago, "on", or "broken", where
it is announced and its storage refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hub_server.repos import Blob, Repo

if TYPE_CHECKING:
    from hub_server.server import HubServer

_BLOCK = 48  # bytes of every entry of a shard
_HAS_VERIFICATION, _HAS_METADATA = 1 << 31, 1 << 30


def announced(hub: HubServer, repo: Repo, commit: str, blob: Blob) -> dict[str, str]:
    """What the answer about a file says of xet: nothing where it came by Git LFS."""
    file_hash = _known(hub).get(str(blob.sha256)) if hub.xet == "on" else "ab" * 32
    if hub.xet == "off" or file_hash is None:
        return {}
    route = f"{hub.endpoint}/api/{repo.kind}s/{repo.id}/xet-read-token/{commit}"
    return {"X-Xet-Hash": file_hash, "X-Xet-Refresh-Route": route}


def receive(hub: HubServer, repo: Repo, sha256: str) -> None:
    """Take an object that a commit names from the storage."""
    from hf_xet import XetFileInfo, XetSession

    target = hub.xet_folder / sha256
    with XetSession().new_file_download_group(endpoint=f"local://{hub.xet_folder}") as group:
        group.start_download_file(XetFileInfo(_known(hub)[sha256], None), str(target))
    hub.contents.add_lfs(target.read_bytes())
    target.unlink()
    repo.lfs.add(sha256)


def _known(hub: HubServer) -> dict[str, str]:
    """The hash that the storage knows a file by, by SHA-256."""
    shards = sorted(hub.xet_folder.glob("**/shards/*.mdb"))
    return dict(pair for shard in shards for pair in _files(shard.read_bytes()))


def _files(shard: bytes) -> Iterator[tuple[str, str]]:
    """SHA-256 and hash of the files in a shard, by the xet protocol's description of it."""
    at = _BLOCK
    while shard[at : at + 32] != b"\xff" * 32:
        flags = int.from_bytes(shard[at + 32 : at + 36], "little")
        terms = int.from_bytes(shard[at + 36 : at + 40], "little")
        behind = at + _BLOCK * (1 + terms * (2 if flags & _HAS_VERIFICATION else 1))
        if flags & _HAS_METADATA:
            yield _hexadecimal(shard[behind : behind + 32]), _hexadecimal(shard[at : at + 32])
            behind += _BLOCK
        at = behind


def _hexadecimal(number: bytes) -> str:
    """A hash as xet writes it: four numbers of eight bytes, each the last byte first."""
    return "".join(number[i : i + 8][::-1].hex() for i in range(0, 32, 8))
