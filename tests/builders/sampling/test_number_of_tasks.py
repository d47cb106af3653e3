"""How many tasks `open` draws: as many as the paper's Algorithm 2 under any other generator."""

import pytest
from full_checks import check_module

from benchmark_spec.catalogue import catalogue
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Protocol

SEEDS = 20
LARGE = ("quickdraw", "mscoco")


@pytest.mark.parametrize("protocol", PUBLISHED_PROTOCOLS[1:], ids=str)
@pytest.mark.parametrize("dataset", [name for name in catalogue() if name not in LARGE])
def test_open_is_within_the_spread_of_other_seeds(dataset: str, protocol: Protocol) -> None:
    """Of twenty; studies/checks/open_task_numbers.py has a hundred, of the large ones too."""
    numbers_of_tasks = check_module("open_task_numbers").numbers_of_tasks
    drawn, spread, most = numbers_of_tasks(dataset, protocol, SEEDS)
    assert spread.min() <= drawn <= spread.max() <= most
