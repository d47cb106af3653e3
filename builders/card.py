"""The dataset card: what a person, and ``datasets.load_dataset``, reads of a release."""

from __future__ import annotations

from benchmark_spec.manifest import Manifest
from benchmark_spec.protocol import SUITES, TaskSetName


def dataset_card(manifest: Manifest) -> str:
    """README.md of a release: configurations in its YAML header, then the data sets and tasks."""
    return "\n".join([*_header(manifest), *_body(manifest)]) + "\n"


def _header(manifest: Manifest) -> list[str]:
    lines = ["---", f"pretty_name: {manifest.name}", "license: other", "tags:", "- few-shot"]
    lines += ["- fslbench", "configs:"]
    for config in manifest.configs():
        lines += [f"- config_name: {config.name}", "  data_files:"]
        for split, paths in config.splits.items():
            lines += [f"  - split: {split}", "    path:"]
            lines += [f"    - {path}" for path in paths]
    return [*lines, "---", ""]


def _body(manifest: Manifest) -> list[str]:
    lines = [
        f"# {manifest.name} {manifest.version}",
        "",
        manifest.description,
        "",
        "Made by FSLBench. The tables, their digests and how each was made are listed in "
        "`release.json`. Load any configuration with `datasets.load_dataset`, or all of it with "
        "`fslbench_data.load_release`.",
        "",
        "## Data sets",
        "",
        "| name | data set | classes | images | licence |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {d.name} | [{d.title}]({d.homepage}) | {d.n_classes} | {d.n_images:,} | {d.licence} |"
        for d in manifest.datasets
    ]
    notes = [f"- {d.name}: {d.note}" for d in manifest.datasets if d.note]
    lines += ["", *notes, "", "## Task sets", "", "Number of tasks of each:", ""]
    tasks = [t for t in manifest.tables if t.kind == "tasks"]
    names = sorted({TaskSetName.parse(t.name) for t in tasks})
    lines += [f"| | {' | '.join(map(str, names))} |", "|---" * (len(names) + 1) + "|"]
    counts = {(t.dataset, t.name): t.rows for t in tasks}
    for dataset in dict.fromkeys(t.dataset for t in tasks):
        cells = [str(counts.get((dataset, str(name)), "")) for name in names]
        lines.append(f"| {dataset} | {' | '.join(cells)} |")
    used = sorted({name.suite for name in names})
    lines += ["", *(f"- `{suite}`: {SUITES[suite].description}." for suite in used)]
    methods = [t.name for t in manifest.tables if t.kind == "results"]
    if methods:
        lines += ["", f"Reference methods: {', '.join(methods)}."]
    citations = [f"```bibtex\n{d.citation}\n```" for d in manifest.datasets]
    return [*lines, "", "## Citations", "", *citations]
