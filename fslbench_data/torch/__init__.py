"""Load frozen tasks as tensors for PyTorch.

>>> from torch.utils.data import DataLoader  # doctest: +SKIP
>>> from fslbench_data.torch import TaskDataset, collate  # doctest: +SKIP
>>> tasks = TaskDataset(release, "digits", "open-5w5s5q", features="pixels")  # doctest: +SKIP
>>> for batch in DataLoader(tasks, batch_size=8, collate_fn=collate):  # doctest: +SKIP
...     batch.record(recorder, model(batch.support, batch.query).argmax(dim=-1))

No other part of the client imports PyTorch.  Without it, importing this package raises a
MissingPackageError.
"""

from benchmark_spec.extras import require

require("torch", "torch")

from fslbench_data.torch.task_logs import LoggedTasks, log_tasks  # noqa: E402
from fslbench_data.torch.task_sampler import TaskSampler  # noqa: E402
from fslbench_data.torch.tensors import (  # noqa: E402 - only where there is torch
    TaskBatch,
    TaskDataset,
    collate,
)

__all__ = ["LoggedTasks", "TaskBatch", "TaskDataset", "TaskSampler", "collate", "log_tasks"]
