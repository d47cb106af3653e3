"""What a result rests on: the release, the task sets with their fingerprints, the level."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Any

from benchmark_spec.protocol import TaskSetName
from benchmark_spec.version import __version__
from fslbench_data.release.release import Release
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.validate import Validated


@dataclass(frozen=True)
class ScoredSet:
    """A task set that was scored."""

    dataset: str
    task_set: str
    n_tasks: int
    fingerprint: str

    @property
    def name(self) -> TaskSetName:
        """Suite and protocol."""
        return TaskSetName.parse(self.task_set)

    def __str__(self) -> str:
        return f"{self.dataset}/{self.task_set}"

    @property
    def closed_twin(self) -> str:
        """The closed set of the same data and protocol."""
        return f"{self.dataset}/{self.name.closed_twin}"


def scored_set(info: TaskSetInfo) -> ScoredSet:
    """A task set of a release as a report names it."""
    return ScoredSet(info.dataset, str(info.name), info.n_tasks, info.fingerprint)


@dataclass(frozen=True, repr=False)
class Signature:
    """What a result rests on; ``str`` gives the line that every output starts with.

    Attributes
    ----------
    package_version, release, release_digest, hub, level
        Of this package; name@version and digest of the release; where it comes from the Hub, its
        repository and commit as ``ORG/NAME@COMMIT``; the confidence level.
    sets
        The scored task sets and the closed ones beside them, with their fingerprints.
    unbound
        Methods (on task sets) that did not say which tasks they were made on.
    """

    package_version: str
    release: str
    release_digest: str
    level: float
    sets: tuple[ScoredSet, ...]
    unbound: tuple[str, ...]
    hub: str = ""

    @classmethod
    def of(
        cls,
        release: Release,
        infos: Iterable[TaskSetInfo],
        level: float,
        unbound: Iterable[str] = (),
    ) -> Signature:
        """Say what results on some task sets of a release rest on."""
        about: dict[str, Any] = {
            "package_version": __version__,
            "release": str(release),
            "release_digest": release.manifest.digest,
            "hub": release.hub,
            "level": level,
            "sets": tuple(map(scored_set, infos)),
            "unbound": tuple(unbound),
        }
        if release.drawn_from:
            return LogSignature(**about, log=release.drawn_from)
        return cls(**about)

    def __repr__(self) -> str:
        unbound = f", {len(self.unbound)} unbound" if self.unbound else ""
        about = f"fslbench {self.package_version}, {self.release}#{self.release_digest[:12]}"
        return f"<Signature: {about}, level {self.level!r}, {len(self.sets)} task sets{unbound}>"

    def __str__(self) -> str:
        return self._line(",".join(f"{s}#{s.fingerprint[:12]}" for s in self.sets))

    @property
    def short(self) -> str:
        """The same with the number of task sets in place of their names and fingerprints."""
        return self._line(str(len(self.sets)))

    def _line(self, sets: str) -> str:
        repo_id, _, commit = self.hub.partition("@")
        parts = [
            f"fslbench:{self.package_version}",
            f"release:{self.release}#{self.release_digest[:12]}",
            *([f"hub:{repo_id}@{commit[:12]}"] if self.hub else []),
            f"level:{self.level!r}",
            "unbound" if self.unbound else "bound",
            f"sets:{sets}",
        ]
        return "|".join(parts)


@dataclass(frozen=True, repr=False)
class LogSignature(Signature):
    """What a result on own tasks rests on: in place of a release, what they are drawn from."""

    log: str = ""

    def __repr__(self) -> str:
        return f"<Signature: {self}>"

    def _line(self, sets: str) -> str:
        return f"fslbench:{self.package_version}|{self.log}|level:{self.level!r}"


def signature_of(release: Release, answers: Validated, used: Set[str], level: float) -> Signature:
    """What results on some task sets rest on.

    Parameters
    ----------
    used
        As ``dataset/task_set``: those that are scored, and closed ones that stand beside them.
    """
    unbound = [
        f"{group.method} on {group.info}"
        for group in answers.groups
        if not group.bound and group.info.text in used
    ]
    infos = [info for info in release.task_sets if info.text in used]
    return Signature.of(release, infos, level, unbound)
