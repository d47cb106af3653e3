"""Suites: how the tasks of a task set were drawn."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from benchmark_spec.errors import UnknownNameError

IntervalKind = Literal[
    "closed", "open", "class-aware", "superclass-aware", "images", "classes", "superclasses"
]


@dataclass(frozen=True)
class Suite:
    """How the tasks of a task set were drawn.

    Attributes
    ----------
    interval
        The confidence interval that such a set can carry: ``open`` where no image is used
        twice, so that tasks are a sample of new images; ``closed`` where images recur, so
        that an interval only speaks of new tasks of the same images.
    family, step, attributes
        Of a suite made with attributes of images: one of :data:`FAMILIES`, its step, and which
        attributes; else empty.
    uniform
        Whether every task is an independent uniform draw of classes and of images (or groups of
        images) of each, so that intervals by leaving one image or class out hold.
    """

    name: str
    interval: IntervalKind
    description: str
    family: str = ""
    step: str = ""
    attributes: str = ""
    uniform: bool = False


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "open",
            "open",
            "drawn without replacement until the data set is exhausted: no image is used twice "
            "(Algorithm 2 of Lafargue et al., TMLR 2024)",
        ),
        Suite(
            "closed",
            "closed",
            "drawn independently of each other: images recur from task to task "
            "(Algorithm 1 of Lafargue et al., TMLR 2024; the field's habit)",
            uniform=True,
        ),
        Suite(
            "pooled",
            "closed",
            "drawn as closed, so many that leaving one image or class out shows what others would "
            "change; of images in groups, one of each group drawn",
            uniform=True,
        ),
        Suite(
            "published",
            "open",
            "the very tasks behind the per-task accuracies released by Lafargue et al., "
            "TMLR 2024: Algorithm 2 with their generator and seed, stopped at 2000 tasks",
        ),
        Suite(
            "balanced",
            "open",
            "as many tasks as the images allow, no image used twice, and each class used as evenly "
            "as its size allows",
        ),
        Suite(
            "grouped",
            "open",
            "as open, from one image of each group (a burst of photos, a track, one drawing in "
            "several styles): no two images of a group are in the set",
        ),
    )
}


OWN = Suite("own", "closed", "drawn elsewhere: images recur from task to task", uniform=True)
"""The tasks of a researcher's own log; no release has such sets."""

LADDER = {
    "random": "support and queries are random images of the class",
    "support": "support images share an attribute a_c of their class and have none of the other "
    "classes' attributes; queries are random",
    "intra": "as support, and queries lack a_c",
    "inter": "as intra, and queries have the attribute of another class",
    "biased": "as inter, and of these the queries whose attributes are the least usual: the tasks "
    "of FewSTAB (Zheng et al., ECCV 2024)",
}
"""The steps of attribute-biased suites, which have the same classes, task by task."""

COUNTERFACTUAL = {
    "same": "queries have the value that the support images of their class have",
    "any": "the same objects as queries, with any value",
    "other": "the same objects as queries, with the value of another class's support images",
}
"""The steps of suites of objects that exist with several values of an attribute."""

ABLATION = {
    "sc1": "queries as biased; support images are random ones of the class",
    "sc2": "queries as biased; support images share a_c, and may have other classes' attributes",
}
"""The support ablation of FewSTAB, beside the tasks of ``biased``, whose queries these have."""

FEWSTAB = {
    "matched": "random images of the classes of released, task by task",
    "released": "tasks as the released code of FewSTAB (Zheng et al., ECCV 2024) draws them: "
    "attributes first, then classes that share them",
}
"""The released code's tasks, which differ from the paper's, and random ones of the same classes."""

FAMILIES = {
    "ladder": LADDER,
    "counterfactual": COUNTERFACTUAL,
    "ablation": ABLATION,
    "fewstab": FEWSTAB,
}
"""Suites made with attributes, by what they stand for together; steps have different names."""

INTER_CLASS = ("inter", "biased", *ABLATION, "released")
"""Steps whose queries are asked to have the attribute of another class, where there are enough."""

_FAMILY_OF = {step: family for family, steps in FAMILIES.items() for step in steps}
ALONE = ("ladder", "counterfactual")
"""Families that can be drawn so that no image is used twice."""

_WITH_ATTRIBUTES = re.compile(rf"(open_)?({'|'.join(_FAMILY_OF)})_([a-z][a-z0-9]*)")
WITH_ATTRIBUTES = "[open_]<step>_<attributes>, such as open_biased_titles"


def suite_of(name: str, where: str = "") -> Suite:
    """Look up a suite by name: one of :data:`SUITES`, or one made with attributes of images."""
    if name in SUITES:
        return SUITES[name]
    if name == OWN.name:
        return OWN
    match = _WITH_ATTRIBUTES.fullmatch(name)
    if match is None or (match[1] and _FAMILY_OF[match[2]] not in ALONE):
        raise UnknownNameError("suite", name, (*SUITES, WITH_ATTRIBUTES), where=where)
    alone, step, attributes = match.groups()
    images = "no image is used twice" if alone else "images recur from task to task"
    family = _FAMILY_OF[step]
    description = f"{FAMILIES[family][step]}; attributes {attributes}; {images}"
    return Suite(name, "open" if alone else "closed", description, family, step, attributes)


def suites_of(name: str, where: str = "") -> tuple[str, ...]:
    """List the suites that a name stands for: itself, or all steps of a family.

    ``[open_]ladder_<attributes>`` are the steps of :data:`LADDER`, and so on.
    """
    for family, steps in FAMILIES.items():
        alone = "open_" if name.startswith(f"open_{family}_") else ""
        label = name.removeprefix(alone).removeprefix(f"{family}_")
        if name == f"{alone}{family}_{label}":
            return tuple(suite_of(f"{alone}{step}_{label}", where).name for step in steps)
    return (suite_of(name, where).name,)
