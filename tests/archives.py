"""A web server for tests that can continue a download and can break one off: ``from archives import serve``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileServer(ThreadingHTTPServer):
    """Serves ``files`` by name; ``starts`` records the first byte of every answer.

    Attributes:
        break_after: If positive, an answer stops after so many bytes although it promised more.
        ranges: Whether the server continues downloads; otherwise it always sends everything.
        redirects: Where the server points to instead of sending a file, by name.
        headers: What replaces the server's own headers.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = files
        self.starts: list[int] = []
        self.break_after = 0
        self.ranges = True
        self.redirects: dict[str, str] = {}
        self.headers: dict[str, str] = {}

    def url(self, name: str) -> str:
        """Address of a file."""
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        if target := self.server.redirects.get(self.path.strip("/")):
            self.send_response(302)
            self.send_header("Location", target)
            self.end_headers()
            return
        content = self.server.files.get(self.path.strip("/"))
        if content is None:
            self.send_error(404)
            return
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.server.ranges else 0
        if asked and self.server.ranges and start >= len(content):
            self.send_error(416)
            return
        self.server.starts.append(start)
        self.send_response(206 if start else 200)
        for name, value in ({"Content-Length": str(len(content) - start)} | self.server.headers).items():
            self.send_header(name, value)
        self.end_headers()
        end = start + self.server.break_after if self.server.break_after else len(content)
        self.wfile.write(content[start:end])

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serve(files: dict[str, bytes]) -> Iterator[FileServer]:
    """Run a :class:`FileServer` in a thread."""
    with FileServer(files) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
