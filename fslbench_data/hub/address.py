"""Addresses of releases on the Hub: ``ORG/NAME@v1.0.0``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmark_spec.errors import HubError

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_REPO = re.compile(rf"{_NAME}/{_NAME}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_TAG = re.compile(r"v(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")


@dataclass(frozen=True)
class HubAddress:
    """A data set repository, and a tag, branch or commit of it; empty for the newest release."""

    repo_id: str
    revision: str = ""

    def __str__(self) -> str:
        return f"{self.repo_id}@{self.revision}" if self.revision else self.repo_id

    @classmethod
    def parse(cls, text: str) -> HubAddress:
        """Read ``ORG/NAME`` or ``ORG/NAME@REVISION``; raises a HubError if the text is neither."""
        repo_id, at, revision = text.partition("@")
        if not is_repo_id(repo_id) or (at and not _is_revision(revision)):
            raise HubError(
                f"{text!r:.200} is not the address of a repository",
                expected="ORG/NAME, or ORG/NAME@v1.0.0 with a tag or a whole commit",
            )
        return cls(repo_id, revision)


def is_repo_id(text: str) -> bool:
    """Whether a text has the form ``ORG/NAME``."""
    return _REPO.fullmatch(text) is not None and ".." not in text


def is_address(text: str) -> bool:
    """Whether a text has the form of an address; a folder may be called so, too."""
    repo_id, at, revision = text.partition("@")
    return is_repo_id(repo_id) and (not at or _is_revision(revision))


def meant_address(text: str) -> str:
    """The address that somebody may have meant by another way to write it; empty for none."""
    match = re.fullmatch(
        rf"\s*(?:https?://[^/\s]+/|hf://)?(?:datasets/)?({_NAME}/{_NAME}?)"
        r"(?:[@:/](?:(?:tree|blob|resolve)/)?([^/\s]*).*)?\s*",
        text,
    )
    if match is None or not is_repo_id(match[1]):
        return ""
    revision = match[2] or ""
    if re.fullmatch(r"[vV]?[0-9]+\.[0-9]+\.[0-9]+", revision):
        revision = f"v{revision.lstrip('vV')}"
    return f"{match[1]}@{revision}" if revision and _is_revision(revision) else match[1]


def is_commit(revision: str) -> bool:
    """Whether a revision is a whole commit, which names the same files for ever."""
    return _COMMIT.fullmatch(revision) is not None


def version_of(tag: str) -> tuple[int, int, int] | None:
    """The version that a tag such as v1.0.0 names; None for any other tag."""
    match = _TAG.fullmatch(tag)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def _is_revision(text: str) -> bool:
    return _REVISION.fullmatch(text) is not None and ".." not in text
