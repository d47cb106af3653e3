"""The elements and texts of a page, as a browser takes it."""

from html.parser import HTMLParser


class Elements(HTMLParser):
    """Start tags with their attributes, texts, and the cells of tables by row."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self._in_cell = False
        self.feed(page)

    @property
    def tags(self) -> list[str]:
        return [tag for tag, _ in self.found]

    @property
    def attributes(self) -> set[str]:
        return {name for _, attributes in self.found for name in attributes}

    @property
    def images(self) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.found if tag == "img"]

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        data = data.replace("\xa0", " ")
        self.texts.append(data)
        if self._in_cell:
            self.rows[-1][-1] += data
