"""Help pages: plain text in a pipe, with headings and names in colour on a terminal."""

from __future__ import annotations

import sys

_HEADING = r"(?m)^\S.*:$"
_OPTION = r"(?m)(?<![\w.-])--?[a-z][\w.-]*"
_COMMAND = r"(?m)^  [a-z]\w*(?=  )"
_EXAMPLE = r"(?m)^ +pauc .*?(?=  |$)"


def show_page(page: str) -> None:
    """Print a help page.

    Args:
        page: The text. Lines that end with a colon and are not indented are headings; indented lines that begin with
            ``pauc`` are examples.
    """
    if not sys.stdout.isatty():
        sys.stdout.write(page)
        sys.stdout.flush()  # a reader that has closed the pipe is noticed here, not at the exit
        return
    from rich.console import Console  # not needed in a pipe
    from rich.text import Text

    text = Text(page, end="")
    for pattern, style in ((_OPTION, "cyan"), (_COMMAND, "cyan"), (_EXAMPLE, "green"), (_HEADING, "bold")):
        text.highlight_regex(pattern, style)
    # The page is already wrapped; rich would wrap it again without the indentation.
    Console().print(text, soft_wrap=True, end="")
