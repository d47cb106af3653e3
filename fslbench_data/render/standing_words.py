"""How each of several methods stands to the best of them, in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fslbench_data.render.place_words import NAME, THESE, by_points, places
from fslbench_data.render.short_names import shortened
from fslbench_data.scoring.headlines import Headline
from fslbench_data.scoring.standings import Mark, Standing, Standings


def standing_sentences(name: str, columns: Sequence[Standings]) -> list[str]:
    """Return where a method stands: by name, and by the number of task sets."""
    mine = [(c, c.by_method[name]) for c in columns if name in c.by_method]
    judged = [(c, standing) for c, standing in mine if standing.mark is not Mark.UNJUDGED]
    short = shortened(name, NAME)
    if not judged:
        return [f"{short}: nothing is concluded."]
    total = f"{len(judged)} data sets and shots" if len(judged) > 1 else "1 data set and shot"
    return [
        f"{short}: {_standings(judged, places)}.",
        f"{short}, on {total}: {_standings(judged, _number)}.",
    ]


def _number(headlines: Sequence[Headline]) -> str:
    return str(len(headlines))


def _standings(
    judged: Sequence[tuple[Standings, Standing]], say: Callable[[Sequence[Headline]], str]
) -> str:
    """Where a method stands for new images and classes, and where only for the images at hand."""
    of_images = [(c, s) for c, s in judged if c.headline.images != "closed"]
    of_these = [(c, s) for c, s in judged if c.headline.images == "closed"]
    parts = [_standing(of_images, " for new images", say)] if of_images else []
    if of_these:
        parts.append(f"{THESE}: {_standing(of_these, '', say)}")
    return "; ".join(parts)


def _standing(
    judged: Sequence[tuple[Standings, Standing]],
    about: str,
    say: Callable[[Sequence[Headline]], str],
) -> str:
    """Where a method has the highest mean, where it is not told apart from it, where it is."""
    of_mark = {mark: [(c, s) for c, s in judged if s.mark is mark] for mark in Mark}
    parts = []
    if highest := of_mark[Mark.HIGHEST]:
        where = say([column.headline for column, _ in highest])
        parts.append(f"highest mean on {where}, {_alone([c for c, _ in highest], about, say)}")
    if near := of_mark[Mark.NOT_APART]:
        where = say([column.headline for column, _ in near])
        parts.append(f"not told apart from the highest on {where}")
    below = [(c, s) for c, s in judged if s.mark in (Mark.NEW_IMAGES, Mark.APART)]
    if below:
        most = max(standing.behind for _, standing in below)
        further = [c.headline for c, s in below if s.mark is Mark.APART and c.headline.classes]
        where = say([column.headline for column, _ in below])
        text = f"worse than the highest{about} on {where}, {by_points(most, len(below))}"
        classes = any(column.headline.classes for column, _ in below)
        parts.append(text + (_for_new_classes(further, say) if classes else ""))
    return "; ".join(parts)


def _for_new_classes(
    headlines: Sequence[Headline], say: Callable[[Sequence[Headline]], str]
) -> str:
    return f", for new classes on {say(headlines) if headlines else 'none'}"


def _alone(
    columns: Sequence[Standings], about: str, say: Callable[[Sequence[Headline]], str]
) -> str:
    """On which sets a method is told apart from every other, of those where it has the highest."""
    of_images: list[tuple[Headline, float]] = []
    of_classes: list[Headline] = []
    for column in columns:
        others = [
            standing
            for standing in column.by_method.values()
            if standing.mark not in (Mark.HIGHEST, Mark.UNJUDGED)
        ]
        marks = {standing.mark for standing in others}
        if not others or Mark.NOT_APART in marks:
            continue
        of_images.append((column.headline, min(standing.behind for standing in others)))
        if Mark.NEW_IMAGES not in marks and column.headline.classes:
            of_classes.append(column.headline)
    if not of_images:
        return "though nowhere told apart from all others"
    where = say([headline for headline, _ in of_images])
    most = max(lead for _, lead in of_images)
    text = f"better than all others{about} on {where}, {by_points(most, len(of_images))}"
    classes = any(headline.classes for headline, _ in of_images)
    return text + (_for_new_classes(of_classes, say) if classes else "")
