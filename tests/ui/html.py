"""A page as a test looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "link", "input", "br", "hr", "img", "rect", "line", "path"}


@dataclass
class Node:
    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def all(self, tag: str, **wanted: str) -> list[Node]:
        """``class_`` is a class among others."""
        return [node for node in self.walk() if node.tag == tag and node.has(wanted)]

    def one(self, tag: str, **wanted: str) -> Node:
        (found,) = self.all(tag, **wanted)
        return found

    def has(self, wanted: dict[str, str]) -> bool:
        return all(
            value in self.attributes.get("class", "").split()
            if name == "class_"
            else self.attributes.get(name) == value
            for name, value in wanted.items()
        )

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


class _Reader(HTMLParser):
    """Refuses what browsers would have to mend."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Node("#document", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(text: str) -> Node:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert [node.tag for node in reader.open] == ["#document"], "something is left open"
    return reader.open[0]


def check(found: Node, path: str) -> None:
    """Landmarks, one heading, labels, captions, unique ids, and nothing from elsewhere."""
    for tag in ("header", "main", "footer", "h1", "title"):
        assert len(found.one("html").all(tag)) == 1 or tag == "title", f"{path} has one <{tag}>"
    assert found.one("html").attributes["lang"] in ("en", "zh-Hans")
    ids = [node.attributes["id"] for node in found.walk() if "id" in node.attributes]
    assert len(ids) == len(set(ids)), f"{path} has an id twice"
    labelled = {node.attributes["for"] for node in found.all("label")}
    for tag in ("input", "select", "textarea"):
        for node in found.all(tag):
            assert node.attributes.get("type") == "hidden" or node.attributes["id"] in labelled, f"{path}: {node}"
    for name in ("aria-labelledby", "aria-describedby"):
        for node in found.walk():
            assert all(wanted in ids for wanted in node.attributes.get(name, "").split()), f"{path}: {node.attributes}"
    for node in found.all("nav"):
        assert node.attributes["aria-label"]
    for table in found.all("table"):
        assert table.one("caption").words
        assert all(cell.attributes["scope"] in ("col", "row") for cell in table.all("th"))
    for picture in found.all("svg", role="img"):
        assert picture.attributes["aria-label"]
    levels = [int(node.tag[1]) for node in found.walk() if node.tag in ("h1", "h2", "h3")]
    assert all(after - before <= 1 for before, after in pairwise(levels)), f"{path}: {levels}"
    assert_local(found, path)


def assert_local(found: Node, path: str) -> None:
    for node in found.walk():
        assert not node.attributes.keys() & {"style", "srcset"}, f"{path}: {node.tag} has what the policy refuses"
        assert not [name for name in node.attributes if name.startswith("on")]
        for name in ("href", "src", "action"):
            assert node.attributes.get(name, "/").startswith(("/", "#", "?")), f"{path}: {node.attributes}"
        assert not node.attributes.get("href", "").startswith("//")
    assert all(node.attributes.get("src") and not node.text for node in found.all("script"))
    assert found.all("style") == []
