"""Tables as HTML that stands alone: nothing in it works, and no style sheet is needed."""

from __future__ import annotations

from collections.abc import Sequence

from fslbench_data.render.table import Table, comment


def html(tables: Sequence[Table], signature: str, notes: Sequence[str] = ()) -> str:
    """Write tables as elements of HTML; the signature stands first, as a comment."""
    from fslbench_data.render.templating import template  # imports jinja2

    return template("render/templates/tables.html.j2").render(
        tables=tables, signature=signature, notes=notes, comment=comment
    )
