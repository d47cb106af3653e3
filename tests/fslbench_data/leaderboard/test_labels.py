"""Names that several have."""

import pytest

from fslbench_data.leaderboard.leaderboard import unique_labels

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
        "PIXELS/ncc",
        "p\u0131xels/NCC",  # dotless i
        "pixels\u2215NCC",  # division slash
        "pixels / NCC",
        "pixel\u1e63/NCC",  # s with a dot below
        "\U0001d429ixels/NCC",  # mathematical bold
        "pixels//NCC",
        "(pixels/NCC)",
        "pixels_NCC",
        "pixelsNCC",
        "pixels/NCC \u2713",  # a tick
        "pixels/NCC\u2026",
    ],
)
def test_names_that_imitate_a_reference(name: str) -> None:
    assert unique_labels([(name, A)], ["pixels/NCC"]) == [f"{name} (1a2b3c4d)"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pixels/NCC2", "pixels/NCC"),
        ("ViT-B/16", "ViT-B/32"),
        ("ResNet-18", "ResNet-10"),
        ("alpha=1.0", "alpha=10"),
        ("LR C=0.1", "LR C=0.01"),
        ("ProtoNet*", "ProtoNet"),
        ("ProtoNet+", "ProtoNet"),
        ("Pr\u00f6t\u00f6N\u00e9t 5x1", "ProtoNet"),
        ("!!", "??"),
    ],
)
def test_honest_names_stay(one: str, other: str) -> None:
    assert unique_labels([(one, A), (other, B)], []) == [one, other]
    assert unique_labels([(one, A)], [other]) == [one]


def test_imitations_of_every_label() -> None:
    taken = [f"P ({A[:n]})" for n in (8, 16, 32, 64)]
    assert len(unique_labels([("P", A), ("P", B)], taken)) == 2


def test_thousands_of_one_name() -> None:
    many = [("P", f"{i:064x}") for i in range(2_000)]  # alike in all but the last digits
    assert len(set(unique_labels(many, ["P"]))) == 2_000
