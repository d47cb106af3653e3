"""Who asks, and what they may do."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hub_server.answers import HubError

if TYPE_CHECKING:
    from hub_server.repos import Repo


@dataclass(frozen=True)
class User:
    """A user, with what the token in hand allows.

    Parameters
    ----------
    name
        The user's name, and their own namespace.
    write, read
        Namespaces they may write to; whose private repositories they may read.
    read_only
        A token of the role `read`: writes nothing, opens no discussion.
    """

    name: str
    write: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()
    read_only: bool = False

    def may_write(self, namespace: str) -> bool:
        return not self.read_only and namespace in {self.name, *self.write}

    def may_read(self, namespace: str) -> bool:
        return namespace in {self.name, *self.write, *self.read}


class Accounts:
    """All tokens of a server."""

    def __init__(self) -> None:
        self._users: dict[str, User] = {}

    def clear(self) -> None:
        self._users.clear()

    def add(self, user: User) -> str:
        digest = hashlib.sha256(f"{user.name} {len(self._users)}".encode()).hexdigest()
        token = f"hf_{digest[:34]}"
        self._users[token] = user
        return token

    def of(self, header: str | None) -> User | None:
        """The user of an `Authorization` header; None without one."""
        if not header:
            return None
        user = self._users.get(header.removeprefix("Bearer ").strip())
        if user is None:
            raise HubError(401, "Invalid credentials in Authorization header")
        return user


def logged_in(user: User | None) -> User:
    if user is None:
        raise HubError(401, "Invalid username or password.")
    return user


def check_read(repo: Repo | None, user: User | None) -> Repo:
    """The repository, unless it is missing or private to this user; the Hub hides which."""
    hidden = repo is None or (repo.private and not (user and user.may_read(repo.namespace)))
    if hidden or repo is None:
        if user is None:
            raise HubError(401, "Invalid username or password.", "RepoNotFound")
        raise HubError(404, "Repository not found", "RepoNotFound")
    return repo


def check_contents(repo: Repo, user: User | None) -> None:
    """Files of a gated repository are for those who were let in."""
    if repo.gated and not (user and user.may_read(repo.namespace)):
        status = 401 if user is None else 403
        text = f"Access to {repo.kind} {repo.id} is restricted."
        raise HubError(status, text, "GatedRepo")


def check_discuss(user: User | None) -> User:
    """Anyone who is logged in may open discussions and pull requests."""
    user = logged_in(user)
    if user.read_only:
        text = "Forbidden: your token does not have the rights to write discussions"
        raise HubError(403, text)
    return user


def check_write(namespace: str, user: User | None, what: str) -> User:
    user = logged_in(user)
    if not user.may_write(namespace):
        raise HubError(403, f"You don't have the rights to {what} under the namespace {namespace}")
    return user
