"""Adds the repository's address to the site, and links to files that are not pages."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\((?P<target>(?:\.\./)+[^)#\s]+)")
"""A link to something above the page's folder."""


def on_config(config: Any) -> Any:
    """Take the project's address from pyproject.toml, the only place that names it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.repo_url = project["urls"]["Homepage"]
    config.repo_name = project["name"]
    config.edit_uri = "blob/main/docs/"
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Point links that leave docs/, such as ../CHANGELOG.md, to the repository."""

    def absolute(link: re.Match[str]) -> str:
        folder = posixpath.dirname(f"docs/{page.file.src_uri}")
        path = posixpath.normpath(posixpath.join(folder, link["target"]))
        if path.startswith("docs/"):
            return link[0]
        if not (ROOT / path).exists():
            raise FileNotFoundError(f"docs/{page.file.src_uri} links to {path}, which does not exist")
        return f"]({config.repo_url}/blob/main/{path}"

    return LINK.sub(absolute, markdown)
