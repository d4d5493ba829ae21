"""The project's description on PyPI: the README with absolute links, as PyPI shows it outside the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>(?!\w+:|#)[^)]+)\)")
"""A Markdown link or image whose target is a path in the repository."""


def with_absolute_links(markdown: str, repository: str) -> str:
    """Point links to the repository's pages and images to its raw files."""

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["image"] else "blob"
        return f"{link['image']}[{link['text']}]({repository}/{kind}/main/{link['target']})"

    return LINK.sub(absolute, markdown)


class ReadmeHook(MetadataHookInterface):
    """Fills in the dynamic field ``readme``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README, its links made absolute with the Homepage of pyproject.toml."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_absolute_links(text, metadata["urls"]["Homepage"]),
        }
