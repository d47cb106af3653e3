import pytest

from benchmark_spec.errors import SpecError, UnknownNameError
from benchmark_spec.protocol import Protocol, TaskSetName


@pytest.mark.parametrize(
    "text",
    ["5w5s", "5w0s5q", "w5s5q", "5w5s5q ", "05w1s1q", "", "1w1s1q", "9" * 5000 + "w1s1q"],
)
def test_other_texts_are_no_protocols(text: str) -> None:
    with pytest.raises(SpecError):
        Protocol.parse(text)


def test_more_classes_than_a_label_can_name() -> None:
    with pytest.raises(SpecError, match="128 ways"):
        Protocol(128, 1, 1)
    with pytest.raises(SpecError, match="32767 queries"):
        Protocol(100, 1, 350)


def test_task_set_names() -> None:
    name = TaskSetName.parse("open-5w5s5q")
    assert (name.suite, name.protocol, str(name)) == ("open", Protocol(5, 5, 5), "open-5w5s5q")
    assert name.interval == "open"
    assert str(name.closed_twin) == "closed-5w5s5q"
    assert TaskSetName.parse("published-5w1s1q").interval == "open"
    assert TaskSetName.parse("closed-5w1s1q").interval == "closed"


def test_unknown_suites_list_the_valid_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'open'(.|\n)*closed"):
        TaskSetName.parse("opne-5w5s5q")
    with pytest.raises(SpecError):
        TaskSetName.parse("open")
