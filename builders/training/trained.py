"""Load trained methods, to start from or to run on the task sets of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from msgspec.structs import replace
from numpy.typing import NDArray

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    BackboneError,
    MethodFailedError,
    SourceError,
    SpecError,
    listing,
    printable,
    quoted,
)
from builders.sources.image_set import ImageSet, differing_images
from builders.training import shapes_of, state_sha256
from builders.training.building import build_method, build_network, code_sha256
from builders.training.folder import ABOUT, WEIGHTS, finished
from builders.training.images import Inputs, levels_in, read_levels
from builders.training.method import Method
from builders.training.networks import Network
from builders.training.settings import DataSettings, RunSettings, settings_in
from fslbench_data.evaluation.inputs import FeaturesOf
from fslbench_data.evaluation.loop import evaluate
from fslbench_data.files import open_regular
from fslbench_data.pictures import decode
from fslbench_data.release.pictures import stored_pictures
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo


@dataclass(frozen=True, eq=False)
class Trained:
    """A method with the weights of a finished training; `about` is its ``trained.json``."""

    method: Method
    settings: RunSettings
    about: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of its results, such as ``ProtoNet-conv4-5w5s``."""
        return training_name(self.settings)

    def __call__(
        self, support: NDArray[np.float32], query: NDArray[np.float32], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Predict positions of classes (M,) of levels 0..255, (K, S, C, h, w) and (M, C, h, w)."""
        load, device = Inputs(self.settings.data).plain, next(self.method.parameters()).device
        with torch.no_grad():
            scores = self.method.scores(load(support).to(device), load(query).to(device))
        if not bool(torch.isfinite(scores).all()):
            raise MethodFailedError("scores are not numbers", fix="see whether the training failed")
        positions: NDArray[np.int64] = scores.argmax(dim=1).cpu().numpy()
        return positions


def training_name(settings: RunSettings) -> str:
    """Return the name of a trained method, such as ``ProtoNet-conv4-5w5s``."""
    episode = settings.training.protocol
    method = settings.method.rpartition(":")[2]
    return f"{method}-{settings.network.name}-{episode.way}w{episode.shot}s"


def load_trained(folder: Path, own: str = "") -> Trained:
    """Load a finished training, whoever made it.

    A method that is not of the package must be named as `own`, its ``MODULE:CLASS``, because
    importing the module runs it.  BackboneError if its code is not that of the training.
    """
    settings, about, state = read_finished(folder)
    method = settings.method
    if own and ":" not in method:
        raise BackboneError(
            f"{folder} was trained by {quoted(method)}, not by {quoted(own)}",
            fix="name no method: it is one of fslbench",
        )
    if own != method and ":" in method:
        raise BackboneError(
            f"{folder} was trained by {quoted(method)}, a method of somebody's own"
            + (f", not by {quoted(own)}" if own else ""),
            expected="its name from you: its module is imported, which runs the code in it",
            fix=f"if you trust that code, name it: --method {printable(method)}, in Python "
            f"load_trained(folder, {quoted(method)})",
        )
    if own:
        expected, found = about.get("code", ""), code_sha256(own)
        if found != expected:
            raise BackboneError(
                f"the code of {quoted(own)} is not that which {folder} was trained with",
                expected=f"SHA-256 {expected or 'in its trained.json'}; found {found}",
                fix="put the method's code back, or train again",
            )
    built = build_method(settings, about["classes"])
    _load_weights(built, state, folder)
    return Trained(built.eval(), settings, about)


def load_network(folder: Path) -> tuple[Network, RunSettings, dict[str, Any]]:
    """Load the network of a finished training, its settings and its ``trained.json``.

    The method's code is neither needed nor run.
    """
    settings, about, state = read_finished(folder)
    network, prefix = build_network(settings), "network."
    weights = {n.removeprefix(prefix): w for n, w in state.items() if n.startswith(prefix)}
    _load_weights(network, weights, folder)
    return network.eval(), settings, about


def read_finished(folder: Path) -> tuple[RunSettings, dict[str, Any], dict[str, torch.Tensor]]:
    """Read settings, ``trained.json`` and weights; BackboneError or SpecError for damaged ones."""
    unfinished = BackboneError(
        f"{folder} holds no finished training",
        expected=f"{ABOUT} and {WEIGHTS}",
        fix="go on with it: fslbench-build train",
    )
    about = finished(folder)
    if about is None:
        raise unfinished
    try:
        with open_regular(folder / WEIGHTS) as file:
            state = torch.load(file, map_location="cpu", weights_only=True)
        digest = state_sha256(state)
        state = {name: values for name, values in state.items() if isinstance(name, str)}
    except FileNotFoundError:
        raise unfinished from None
    except Exception as error:  # torch raises many kinds for a file of something else
        raise BackboneError(
            f"{folder} cannot be read: {type(error).__name__}",
            expected=f"{ABOUT} and {WEIGHTS} as fslbench-build train wrote them",
            fix="train it again, or fetch it again",
        ) from None
    if digest != about["weights_sha256"]:
        raise BackboneError(
            f"the weights in {folder} are not those that its {ABOUT} is about",
            fix="train them again, or fetch them again",
        )
    return settings_in(about["settings"]), about, state


def _load_weights(module: torch.nn.Module, state: dict[str, torch.Tensor], folder: Path) -> None:
    if shapes_of(state) != shapes_of(module.state_dict()):
        raise BackboneError(
            f"the weights in {folder} are not of the {type(module).__name__} that its {ABOUT} says",
            expected="the names, shapes and types of its weights",
            fix="train them again, or fetch them again",
        )
    module.load_state_dict(state)


def start_name(settings: RunSettings) -> str:
    """Return the folder's name of the training to start from; empty for new weights."""
    start = settings.network.start
    return f"{start}-{settings.seed}" if start else ""


def check_start(settings: RunSettings, folder: Path) -> None:
    """Raise SpecError unless `folder` holds the finished training to start from, if any."""
    name = start_name(settings)
    if name and finished(folder / name) is None:
        raise SpecError(
            f"it starts from the network of {name}, which is not trained",
            where=str(folder),
            expected=f"a finished training in its folder {name}",
            fix=f"name {settings.network.start}.toml in the same command, or train it first",
        )


def load_start(method: Method, settings: RunSettings, folder: Path) -> str:
    """Load the network that a training starts from; returns the digest of its weights."""
    check_start(settings, folder)
    name = start_name(settings)
    network, start_settings, start_about = load_network(folder / name)
    for field, wanted, found in (
        ("network", replace(settings.network, start=""), replace(start_settings.network, start="")),
        ("side", settings.data.side, start_settings.data.side),
        ("channels", settings.data.inputs, start_settings.data.inputs),
    ):
        if wanted != found:
            raise SpecError(
                f"it starts from the network of {name}, whose {field} is another",
                where=str(folder),
                expected=f"{found}",
                fix=f"give both files the same {field}",
            )
    method.network.load_state_dict(network.state_dict())
    return str(start_about["weights_sha256"])


def levels_for(
    release: Release, dataset: str, data: DataSettings, images: ImageSet | None = None
) -> NDArray[np.uint8]:
    """Read the levels of a release's data set from its own pictures, or from its source's `images`.

    SourceError for `images` that are not those of the release, or a release without pictures.
    """
    if images is None:
        paths = stored_pictures(release, dataset)
        return read_levels(
            lambda number: decode(paths[number]), len(paths), data, f"{dataset}: image"
        )
    recorded, table = release.images(dataset), images.images
    if content_digest(recorded) != content_digest(table):
        differing = differing_images(recorded, table) or differing_images(table, recorded)
        what = f"{len(differing)} images" if differing else "images"
        which = listing(differing) if differing else "in order, groups, creators or licences"
        raise SourceError(
            f"{dataset}: {what} are not those of release {release}: {which}",
            where=str(images.raw or ""),
            expected="the images that the release was made of",
            fix="name the specification that the release was made from: --spec",
        )
    return levels_in(images, data)


def answer(
    trained: Trained,
    release: Release,
    levels: FeaturesOf,
    *,
    name: str | None = None,
    datasets: Sequence[str],
    task_sets: Sequence[str] = (),
    journal: Path | None = None,
    show_progress: bool = False,
) -> Submission:
    """Predict task sets of some data sets; the training's seed is the run.

    `levels` returns the pictures of a data set as :func:`builders.training.images.levels_in` does;
    other parameters are those of :func:`fslbench_data.evaluate`.  Without `task_sets`, a method
    that adapts to each task runs only on sets that reuse no image, and a method with an output for
    each class only on sets of its number of ways.
    """
    settings, method = trained.settings, trained.method
    offered = {str(info.name): info for info in release.task_sets if info.dataset in datasets}
    if not task_sets and (method.adapts or method.keeps_way):
        task_sets = sorted(
            name
            for name, info in offered.items()
            if not info.name.varies
            and not (method.adapts and info.name.interval == "closed")
            and fits_ways(trained, info)
        )
        if not task_sets:
            ways = f" of {settings.training.protocol.way} ways" if method.keeps_way else ""
            raise SpecError(
                f"{trained.name} answers no task set of {listing(datasets)} that is not named",
                expected=f"sets{ways}, and if it adapts to each task such as reuse no image",
                fix="name the sets that it is to answer: --task-set",
            )
    chosen = task_sets or list(offered)
    uneven = [name for name, info in offered.items() if info.name.varies and name in chosen]
    if uneven and (task_sets or len(uneven) == len(offered)):
        raise SpecError(
            f"{trained.name} answers tasks of one size, and those of {listing(uneven)} differ",
            fix="name other task sets: --task-set",
        )
    submission = evaluate(
        trained,
        release,
        name=name or trained.name,
        description=f"{settings.network.name} trained on {settings.data.source}",
        datasets=datasets,
        task_sets=task_sets,
        features=levels,
        journal=journal,
        show_progress=show_progress,
        transductive=False,
    )
    return as_run(submission, settings.seed)


def as_run(submission: Submission, seed: int) -> Submission:
    """Return results with a training's seed as their run."""
    run = pa.array([str(seed)] * submission.table.num_rows)
    return replace(submission, table=submission.table.append_column("run", run))


def fits_ways(trained: Trained, info: TaskSetInfo) -> bool:
    """Return whether a method can run on a task set's number of ways."""
    way = trained.settings.training.protocol.way
    return not trained.method.keeps_way or info.protocol.way == way
