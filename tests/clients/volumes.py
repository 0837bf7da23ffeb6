"""A stand-in for block storage that has no volumes: some clients look for some whatever they do."""

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator


class _NoVolumes(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, answer = (200, {"volumes": []}) if "/volumes/detail" in self.path else (404, {})
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def no_volumes() -> Iterator[str]:
    """Serve it while the block lasts, at the address that is yielded."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _NoVolumes) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v3"
        finally:
            server.shutdown()
