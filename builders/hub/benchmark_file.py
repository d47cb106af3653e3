"""``eval.yaml``: what registers a release as a benchmark of the Hub.

The Hub's documentation of evaluation results gives its form; its tasks are what the files
``.eval_results/*.yaml`` of model repositories refer to.
"""

from __future__ import annotations

from benchmark_spec.errors import ReleaseError
from benchmark_spec.manifest import Manifest
from benchmark_spec.naming import benchmark_task_id
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.tables import config_and_split

BENCHMARK_FILE = "eval.yaml"
FRAMEWORK = "fslbench"


def benchmark_file(manifest: Manifest) -> str:
    """Write the text of eval.yaml: one task for each task set that has a headline metric.

    These are the sets whose tasks share no image, so that the accuracy on them has an open
    interval; those made with attributes of images, whose measure is another, are none of them.  A
    release without any is refused.
    """
    import yaml

    tasks = []
    for table in manifest.tables:
        name = TaskSetName.parse(table.name) if table.kind == "tasks" else None
        if name and name.interval == "open" and not name.attributes:
            config, split = config_and_split(table)
            identifier = benchmark_task_id(table.dataset, table.name)
            tasks.append({"id": identifier, "config": config, "split": split})
    if not tasks:
        raise ReleaseError(
            f"{manifest.name} has no task set that a benchmark of the Hub could rank by",
            expected="a task set whose tasks share no image, such as of the suite `open`",
            fix="publish it without --register-benchmark, in a repository that has no eval.yaml",
        )
    content = {
        "name": manifest.name,
        "description": manifest.description,
        "evaluation_framework": FRAMEWORK,
        "tasks": tasks,
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
