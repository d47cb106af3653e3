"""Publishing a release on the Hugging Face Hub: one commit, seen to be whole, then a tag.

Nothing is kept between runs: each does what the repository shows is left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark_spec.errors import HubAccessError, HubError, ReleaseError, listing
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE, Manifest
from builders.hub.contents import (
    BENCHMARK_FILE,
    FRAMEWORK,
    benchmark_file,
    changed_meanwhile,
    check_licences,
    left_out,
    release_files,
)
from builders.hub.repository import (
    Changes,
    Proposal,
    Refs,
    ReleaseFile,
    Repository,
    changes,
    small_file,
)
from builders.release.card import CardFacts, dataset_card
from builders.release.diff import check_version
from builders.release.verify import verify
from fslbench_data.hub.address import is_repo_id, version_of
from fslbench_data.release.folder import Folder, read_manifest
from fslbench_data.release.release import Release, load_release

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoFile


Registration = tuple[str, Proposal | None]
"""A commit that brings eval.yaml, and the pull request that proposes it, if any."""


@dataclass(frozen=True)
class Published:
    """What was published, and where.

    `changes` were committed or proposed, None if all was published before; `proposal` is the pull
    request that waits to be merged; `compared` files were downloaded again and found to be equal;
    `registration` is what registers it as a benchmark now; files `left_out` are no part of the
    release.
    """

    manifest: Manifest
    repo_id: str
    tag: str
    commit: str
    tagged: bool = False
    changes: Changes | None = None
    proposal: Proposal | None = None
    compared: int = 0
    registration: Registration | None = None
    left_out: tuple[str, ...] = ()


def publish(
    folder: Path,
    repo_id: str,
    *,
    private: bool = False,
    create_pr: bool = False,
    tag: str | None = None,
    register_benchmark: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Published:
    """Publish a release, or finish what an earlier run began.

    Parameters
    ----------
    repo_id
        ``ORG/NAME``; the repository is made, perhaps a `private` one, if there is none.
    create_pr
        Only propose the release in a pull request; a later run without this sets the tag.
    tag
        ``v`` and the release's version, which it also is if not given.
    register_benchmark
        Add eval.yaml, in a commit after the release's; a repository that has one keeps it up to
        date in any case.

    Raises
    ------
    ReleaseError
        If the release has problems, too low a version or tables that may not be redistributed, or
        comes back from the Hub as another one; nothing is then tagged.
    HubError
        If the repository holds something else, the tag another release, or the Hub refuses.
    """
    folder, manifest = read_manifest(folder)
    release_tag = _checked(manifest, repo_id, tag)
    check_licences(manifest)
    verified = verify(folder, lambda path: progress(f"verifying {path}"))
    if problems := verified.problems:
        raise ReleaseError(
            f"{folder} has {len(problems)} problem{'s' if len(problems) > 1 else ''}",
            where=listing([f"{p.path}: {p.what}" for p in problems]),
            expected="a release as fslbench-build release makes it",
            fix="see fslbench-build verify, and build it again",
        )
    if verified.manifest != manifest:
        raise changed_meanwhile(folder)
    release = Release(manifest, Folder(folder))
    card = dataset_card(manifest, CardFacts.of(release, repo_id))
    files = release_files(folder, manifest, card)
    left = Publication(Repository(repo_id), release, files, release_tag, create_pr, progress)
    done = left.run(private=private, register=register_benchmark)
    return replace(done, left_out=left_out(folder, files))


def _checked(manifest: Manifest, repo_id: str, tag: str | None) -> str:
    """Return the tag, after what can be seen to be wrong without the network."""
    from huggingface_hub import get_token

    if not is_repo_id(repo_id):
        raise HubError(
            f"{repo_id!r} is not the name of a repository",
            expected="ORG/NAME: letters, digits, dashes, dots and underscores",
        )
    expected = f"v{manifest.version}"
    if tag not in (None, expected):
        raise HubError(
            f"the tag {tag} does not say the version of {manifest.name}, which is "
            f"{manifest.version}",
            expected=expected,
            fix="leave --tag out, or give the release that version",
        )
    if get_token() is None:
        raise HubAccessError(
            "nobody is logged in to the Hub",
            fix="log in with an account that may write there: hf auth login, or HF_TOKEN",
        )
    return expected


_OTHERS = (".gitattributes", ".gitignore", CARD_FILE, "LICENSE", "LICENSE.md", BENCHMARK_FILE)
"""Files that a repository without a release may hold when the first one comes."""


@dataclass(frozen=True)
class Publication:
    """The publication of one release in one repository, as far as it is left to do."""

    repo: Repository
    release: Release
    files: dict[str, ReleaseFile]
    tag: str
    create_pr: bool
    progress: Callable[[str], None]

    @property
    def manifest(self) -> Manifest:
        """Of the release."""
        return self.release.manifest

    def run(self, *, private: bool, register: bool) -> Published:
        """Do what is left to do; see :func:`builders.hub.publish.publish`."""
        if register:
            benchmark_file(self.manifest)  # which may refuse
        self.progress("looking at the repository")
        refs = self._repository(private)
        commit = refs.tags.get(self.tag)
        if commit is None:
            done = self._published_now(refs)
            return self._registered(done, done.commit, register) if done.tagged else done
        self._check_tagged(commit)
        done = Published(self.manifest, self.repo.id, self.tag, commit, tagged=True)
        return self._registered(done, refs.main, register)

    def _published_now(self, refs: Refs) -> Published:
        """Commit or propose the release, and tag it once the main branch holds it."""
        self._check_version(refs)
        remote = self.repo.files(refs.main)
        if BENCHMARK_FILE in remote:
            benchmark_file(self.manifest)
        what = changes(self.files, remote, self._before(refs, remote))
        commit, proposal = refs.main, None
        if what:
            message = f"{self.manifest.name} {self.tag}"
            commit, proposal = self._commit(self.files, what, refs.main, message)
        self.repo.check(self.files, commit, self.progress)
        if not self.create_pr:
            self._set_tag(commit)
        return Published(
            self.manifest,
            self.repo.id,
            self.tag,
            commit,
            tagged=not self.create_pr,
            changes=what,
            proposal=proposal,
            compared=len(self.files),
        )

    def _repository(self, private: bool) -> Refs:
        """Look up branches and tags of the repository, which is made if there is none."""
        refs = self.repo.refs()
        if refs is None:
            return self.repo.create(private=private)
        if private and not self.repo.is_private():
            raise HubError(
                f"{self.repo.id} is there already, and it is public",
                expected="with --private, a repository that is private, or none",
                fix="make it private in its settings on the Hub, or publish without --private",
            )
        return refs

    def _before(self, refs: Refs, remote: Mapping[str, RepoFile]) -> Manifest | None:
        """Return the release that the main branch holds, if any: an earlier one, or this one."""
        if MANIFEST_FILE not in remote:
            strange = sorted(remote.keys() - {*_OTHERS, *self.files})
            if strange:
                raise HubError(
                    f"{self.repo.id} holds something, and no release",
                    where=listing(strange),
                    fix="publish into a repository of its own, which is made if there is none",
                )
            return None
        if self.files[MANIFEST_FILE].is_as(remote[MANIFEST_FILE]):
            return self.manifest
        before = self.repo.manifest(refs.main)
        if before.name != self.manifest.name:
            raise HubError(
                f"{self.repo.id} holds the release {before.name}, not {self.manifest.name}",
                expected=f"a repository of {self.manifest.name}, or a new one",
                fix="publish into a repository of its own, which is made if there is none",
            )
        if _number(before) > _number(self.manifest):
            raise HubError(
                f"{self.repo.id} holds version {before.version}, which is later than "
                f"{self.manifest.version}",
                fix="give the release a later version; fslbench-build diff says which number to "
                "raise",
            )
        return before

    def _check_version(self, refs: Refs) -> None:
        """Compare the release with the published versions next to it, as the Hub has them."""
        version = _number(self.manifest)
        published: dict[tuple[int, ...], str] = {
            number: commit for tag, commit in refs.tags.items() if (number := version_of(tag))
        }
        lower = [number for number in published if number < version]
        higher = [number for number in published if number > version]
        below = self._nearest(published, sorted(lower, reverse=True))
        above = self._nearest(published, sorted(higher))
        if below is not None:
            self.progress(f"comparing with {below}")
            check_version(below, self.release)
        if above is not None:
            self.progress(f"comparing with {above}")
            fix = f"give the release a version above {above.manifest.version}"
            check_version(self.release, above, fix)

    def _nearest(
        self, published: Mapping[tuple[int, ...], str], numbers: Sequence[tuple[int, ...]]
    ) -> Release | None:
        """Return the first of these versions whose tag names a release."""
        for number in numbers:
            if MANIFEST_FILE in self.repo.files(published[number]):
                return load_release(f"{self.repo.id}@{published[number]}")
        return None

    def _check_tagged(self, commit: str) -> None:
        """Compare the release with what the tag names."""
        remote = self.repo.files(commit)
        other = [path for path, file in self.files.items() if not file.is_as(remote.get(path))]
        if other:
            raise HubError(
                f"{self.repo.id} has published {self.tag} already, and it is another release: "
                f"{len(other)} file{'s' if len(other) > 1 else ''} differ",
                where=listing(other),
                expected="the same files: a tag is never moved, for results are bound to it",
                fix="raise the version of the release and build it again; fslbench-build diff says "
                "which number to raise",
            )

    def _commit(
        self, files: dict[str, ReleaseFile], what: Changes, parent: str, message: str
    ) -> tuple[str, Proposal | None]:
        """Upload what differs, unless an open pull request already holds all of it."""
        if self.create_pr:
            for proposal in self.repo.proposals(message):
                if not changes(files, self.repo.files(proposal.commit), None):
                    return proposal.commit, proposal
        self.progress(f"uploading {len(what.new) + len(what.changed)} files")
        return self.repo.commit(
            files, what, message=message, parent=parent, create_pr=self.create_pr
        )

    def _registered(self, done: Published, main: str, register: bool) -> Published:
        """Bring eval.yaml up to date, or add it if asked: in a commit of its own, after the tag."""
        remote = self.repo.files(main)
        if not register and BENCHMARK_FILE not in remote:
            return done
        if changes(self.files, remote, None):  # which holds another version
            if not register:
                return done
            raise HubError(
                f"the main branch of {self.repo.id} does not hold {self.tag} any more, and it is "
                "what registers a benchmark",
                fix="register the release that the main branch holds",
            )
        files = {BENCHMARK_FILE: small_file(benchmark_file(self.manifest).encode())}
        what = changes(files, remote, None)
        if not what:
            return done
        try:
            made = self._commit(files, what, main, f"{self.manifest.name} as a benchmark")
            self.repo.check(files, made[0], self.progress)
        except HubError as error:
            raise type(error)(
                f"{done.repo_id}@{done.tag} is published, but not as a benchmark: {error.what}",
                where=f"{error.where}: {BENCHMARK_FILE}",
                expected=error.expected or f"{FRAMEWORK} in the Hub's list of frameworks",
                fix=error.fix or "have the name entered there, then run the same command again",
            ) from None
        return replace(done, registration=made)

    def _set_tag(self, commit: str) -> None:
        """Tag a commit that was seen to be whole, and look through the tag."""
        self.progress(f"setting the tag {self.tag}")
        self.repo.tag(self.tag, commit)
        self.repo.check({MANIFEST_FILE: self.files[MANIFEST_FILE]}, self.tag, self.progress)


def _number(manifest: Manifest) -> tuple[int, ...]:
    return tuple(int(part) for part in manifest.version.split("."))
