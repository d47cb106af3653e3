import pytest

from benchmark_spec.errors import MethodNameError, SpecError
from benchmark_spec.naming import check_dataset_name, check_method_name, one_line, slug


def test_slugs() -> None:
    assert slug("dinov2/NCC") == "dinov2-NCC"
    assert slug("open_clip:ViT-B-16/openai.x é") == "open_clip-ViT-B-16-openai.x--"
    for name in ("..", "/", "-", ""):
        with pytest.raises(SpecError):
            slug(name)


@pytest.mark.parametrize(
    "name",
    ["", " a", "a ", "a\nb", "\x1b[31mred", "x" * 201, "a\u202eb", "a\u2800", "\u3164", "a\ufe0f",
     "a" + "\u0301" * 9],
)  # fmt: skip
def test_names_that_no_method_can_have(name: str) -> None:
    with pytest.raises(MethodNameError):
        check_method_name(name)


@pytest.mark.parametrize("sign", list("=+-@＝＋－＠"))
@pytest.mark.parametrize("before", ["", "a;", "a; ", 'a;"', "a;b; '"])
def test_names_that_a_spreadsheet_takes_for_formulas(before: str, sign: str) -> None:
    """Also of those that part cells by semicolons, as in most of Europe."""
    with pytest.raises(MethodNameError, match="spreadsheet"):
        check_method_name(f"{before}{sign}1+1")


def test_names_that_a_method_can_have() -> None:
    for name in (
        "a; b=1",
        "a;b",
        "a=b;c",
        "α-TIM",
        "__proto__",
        "dinov2/NCC",
        "Ünïcode [with] brackets",
        "x" * 200,
    ):
        assert check_method_name(name) == name


def test_data_set_names_are_splits() -> None:
    assert check_dataset_name("fashion_mnist") == "fashion_mnist"
    for name in ("Fashion", "fashion-mnist", "", "../x", "1a", "all"):
        with pytest.raises(SpecError):
            check_dataset_name(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc", "a b c"),
        ("\x1b[31mred\x07", "?[31mred?"),
        ("left\u202eright", "left?right"),
        ("\ud800", "?"),
        ("é 漢 ‡" + "a" * 295, "é 漢 ‡" + "a" * 295),
        ("a" * 301, "a" * 299 + "…"),
    ],
)
def test_one_line_of_anything(text: str, shown: str) -> None:
    assert one_line(text) == shown
