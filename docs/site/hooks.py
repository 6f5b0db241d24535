"""What the pages need to be a site: a link to a file outside of docs/ becomes its words."""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]\n]*)\]\(\.\./[^)\n]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:  # noqa: ANN401 - mkdocs' own call
    """Return the page without links that only lead somewhere in the repository."""
    return _OUTSIDE.sub(r"\1", markdown)
