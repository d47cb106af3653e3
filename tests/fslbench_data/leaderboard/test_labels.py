"""Names that several have."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fslbench_data.leaderboard.labels import looks, mixes_scripts, unique_labels

A, B, C = "1a2b3c4d" * 8, "99887766" * 8, "1a2b3c4d" + "0" * 56


@pytest.mark.parametrize(
    ("methods", "taken", "labels"),
    [
        ([("ProtoNet", A), ("LR", A), ("NCC", B)], ["ref"], ["ProtoNet", "LR", "NCC"]),
        ([("P", A), ("P", B)], [], ["P (1a2b3c4d)", "P (99887766)"]),
        # as many digits as tell them apart
        (
            [("P", A), ("P", C), ("P", B)],
            [],
            [f"P ({A[:16]})", f"P ({C[:16]})", "P (99887766)"],
        ),
        # other case, a ligature, letters of full width; a reference keeps its name
        (
            [("Proﬁt", A), ("profit", B), ("ＮＣＣ", C)],
            ["NCC"],
            ["Proﬁt (1a2b3c4d)", "profit (99887766)", "ＮＣＣ (1a2b3c4d)"],
        ),
        ([("a", A), ("A", A)], [], ["a (1a2b3c4d)", "A (1a2b3c4d)"]),
    ],
)
def test_names_that_are_shared_get_digits(
    methods: list[tuple[str, str]], taken: list[str], labels: list[str]
) -> None:
    assert unique_labels(methods, taken) == labels


def test_a_name_that_imitates_a_label() -> None:
    found = unique_labels([("P", A), ("P", B), ("P (1a2b3c4d)", C)], [])
    assert len(set(found)) == 3
    assert found[0].startswith("P (1a2b3c4d")
    assert found[2].startswith("P (1a2b3c4d) (")


@pytest.mark.parametrize(
    "name",
    [
        "\u0440ixels/NCC",  # Cyrillic er
        "\u0440\u0456\u0445\u0435ls/NCC",
        "pixels/\u039dCC",  # Greek capital nu
        "pixels/N\u0421\u0421",
        "pi\u03c7els/NCC",
        "pixe1s/NCC",
        "pixeIs/NCC",
        "PIXELS/ncc",
        "p\u0131xels/NCC",  # dotless i
        "pixels\u2215NCC",  # division slash
        "pixels / NCC",
        "pixel\u1e63/NCC",  # s with a dot below
        "\U0001d429ixels/NCC",  # mathematical bold
        "pixels/NCC.",
        "pixels//NCC",
        "pixels/-NCC",
        "pixels/NCC'",
        "(pixels/NCC)",
        "pixels-NCC",
        "pixelsNCC",
        "pixels/NCC \u2713",  # a tick
        "pixels/NCC\u2026",
        "p1xels/NCC",
        "plxels/NCC",
        "pix3l5/NCC",
    ],
)
def test_names_that_imitate_a_reference(name: str) -> None:
    assert unique_labels([(name, A)], ["pixels/NCC"]) == [f"{name} (1a2b3c4d)"]


def test_whole_words_of_another_alphabet() -> None:
    for latin, other in (
        ("Cocoa", "\u0421\u043e\u0441\u043e\u0430"),
        ("MAKE", "\u041c\u0410\u041a\u0415"),
        ("AKME", "\u0391\u039a\u039c\u0395"),
        ("nou", "\u03b7\u03bf\u03c5"),
        ("uno", "\u057d\u0578\u0585"),
    ):
        assert looks(latin) & looks(other), latin
        assert not mixes_scripts(other)
        found = unique_labels([(latin, A), (other, B)], [])
        assert found == [f"{latin} (1a2b3c4d)", f"{other} (99887766)"]


def test_alphabets_that_are_mixed() -> None:
    for mixed in ("Pr\u043etoNet", "\u03b1-Net", "\u13dehot", "\ua4d1rotoNet", "\u00b5Net"):
        assert mixes_scripts(mixed), mixed
        assert unique_labels([(mixed, A)], []) == [f"{mixed} (1a2b3c4d)"]
    for one in (
        "ProtoNet",
        "Pr\u00f6t\u00f6N\u00e9t \u2014 5\u00d71",
        "\u041f\u0440\u043e\u0442\u043e\u0439 2",
        "\u753b\u50cf NCC \u3072\u3089\u30ab\u30fc",
        "\uc0ac\uc9c4 NCC",
        "\uff2e\uff23\uff23",
    ):
        assert not mixes_scripts(one), one
        assert unique_labels([(one, A)], ["other"]) == [one]


def test_names_that_do_not_look_alike() -> None:
    names = ["ProtoNet", "ProtoNet+", "ProtoNet 2", "ProtoNets", "pixels/NCC", "pixels/LR", "MAML"]
    assert unique_labels([(name, A) for name in names], ["dinov2/NCC"]) == names


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pixels/NCC2", "pixels/NCC"),
        ("pixels/NCC", "pixels/NCM"),
        ("ViT-B/16", "ViT-B/32"),
        ("ViT-B/16", "ViT-L/16"),
        ("ResNet-18", "ResNet-10"),
        ("alpha=1.0", "alpha=10"),
        ("LR C=0.1", "LR C=0.01"),
        ("ProtoNet*", "ProtoNet"),
        ("ProtoNet+", "ProtoNet"),
        ("FT-5", "FT-50"),
        ("\u2665", "\u2666"),
        ("!!", "??"),
    ],
)
def test_honest_names_stay(one: str, other: str) -> None:
    assert unique_labels([(one, A), (other, B)], []) == [one, other]
    assert unique_labels([(one, A)], [other]) == [one]


NAMES = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]), min_size=1)


@given(NAMES, st.sampled_from(" -/._'"), st.data())
def test_a_separator_between_letters_makes_no_other_name(
    name: str, sign: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(name)))
    around = name[:at].rstrip(" -/._'")[-1:] + name[at:].lstrip(" -/._'")[:1]
    assume(not any(c.isdigit() for c in around) and any(c.isalnum() for c in name))
    assert looks(name[:at] + sign + name[at:]) == looks(name)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_names_of_different_numbers_are_different(one: int, other: int) -> None:
    assume(one != other)
    assert not looks(f"net-{one}") & looks(f"net-{other}")


def test_no_end_of_imitation_is_waited_for() -> None:
    taken = [f"P ({A[:n]})" for n in (8, 16, 32, 64)]
    assert len(unique_labels([("P", A), ("P", B)], taken)) == 2


def test_thousands_of_one_name() -> None:
    many = [("P", f"{i:064x}") for i in range(2_000)]  # alike in all but the last digits
    assert len(set(unique_labels(many, ["P"]))) == 2_000
