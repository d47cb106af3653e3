"""What tasks made with attributes of images obey, by sets of words."""

from collections.abc import Iterator

import pyarrow as pa

from benchmark_spec.protocol import ABLATION, COUNTERFACTUAL, INTER_CLASS, TaskSetName, suite_of

KEYS = ("support", "query", "query_label", "attributes", "inter_class")


def bias_laws(table: pa.Table, name: TaskSetName, attributes: pa.Table) -> Iterator[bool]:
    """Yield for each task whether its images are as its suite says."""
    step, shot = suite_of(name.suite).step, name.protocol.shot
    words = [{*row} for row in attributes["attributes"].to_pylist()]
    columns = (table[key].to_pylist() for key in KEYS)
    for support_ids, query_ids, labels, own, inter_class in zip(*columns, strict=True):
        every = {*own}
        support = [(words[i], own[place // shot]) for place, i in enumerate(support_ids)]
        query = [(words[i], own[k]) for i, k in zip(query_ids, labels, strict=True)]
        holds = [step in COUNTERFACTUAL or len(every) == len(own)]
        if step in COUNTERFACTUAL:
            holds += [image == {word} for image, word in support]
        if step in ("support", "intra", "inter", "biased"):
            holds += [image & every == {word} for image, word in support]
        if step in ("sc2", "released"):
            holds += [word in image for image, word in support]
        if step == "same":
            holds += [image == {word} for image, word in query]
        if step == "other":
            holds += [image <= every - {word} for image, word in query]
        if step in ("intra", "inter", "biased", *ABLATION, "released"):
            holds += [word not in image for image, word in query]
        if step in INTER_CLASS:
            marked = [image for (image, _), k in zip(query, labels, strict=True) if inter_class[k]]
            holds += [bool(image & every) for image in marked]
        yield all(holds)
