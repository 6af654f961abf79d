"""Docstrings written in Markdown, for autodoc.

The first paragraph of a docstring is translated to reStructuredText, because autosummary cuts the
lines of its tables out of the source. All that follows is handed to the MyST parser as it is.
"""

import re

from docutils import nodes
from docutils.utils import new_document
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_CODE_OR_MATH = re.compile(r"(?<!`)`([^`]+)`(?!`)|\$([^$]+)\$")


class MarkdownDocstring(SphinxDirective):
    """Parse the content as MyST Markdown."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        document = new_document(self.get_source_info()[0], self.state.document.settings)
        MystParser().parse("\n".join(self.content), document)
        return document.children


def as_restructured_text(paragraph: str) -> str:
    """Translate code and math of one paragraph of Markdown; the rest of it is common to both."""

    def translate(match: re.Match) -> str:
        code, math = match.groups()
        return f"``{code}``" if code is not None else f":math:`{math}`"

    # A backslash outside of math would escape in reStructuredText, and a star begin emphasis.
    pieces, start = [], 0
    for match in _CODE_OR_MATH.finditer(paragraph):
        pieces += [_escape(paragraph[start : match.start()]), translate(match)]
        start = match.end()
    return "".join([*pieces, _escape(paragraph[start:])])


def _escape(text: str) -> str:
    text = re.sub(r"(?<!\*)\*(?!\*)", r"\\*", text.replace("\\", r"\\"))
    return re.sub(r"(?<=\w)_(?!\w)|\|", lambda match: "\\" + match[0], text)


def translate_docstring(app, what, name, obj, options, lines: list[str]) -> None:
    """Replace the lines of a docstring, for the event `autodoc-process-docstring`."""
    text = "\n".join(lines).strip("\n")
    if not text:
        return
    first, _, rest = text.partition("\n\n")
    # A list or a code block that comes first is no summary.
    if first.lstrip().startswith(("- ", "* ", "```")) or first.startswith("    "):
        first, rest = "", text
    out = as_restructured_text(first).split("\n")
    if rest.strip():
        # The count of blanks matters to Markdown, so only whole lines are moved.
        body = ["   " + line if line else "" for line in rest.split("\n")]
        out += ["", ".. markdown-docstring::", "", *body]
    lines[:] = [*out, ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the translation."""
    app.add_directive("markdown-docstring", MarkdownDocstring)
    app.connect("autodoc-process-docstring", translate_docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
