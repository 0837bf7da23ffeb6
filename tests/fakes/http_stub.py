"""A service on loopback that answers as a test says: refuses, breaks off, stands still, rambles."""

import contextlib
import http.server
import json
import threading


class Answers(http.server.ThreadingHTTPServer):
    """Answers requests by what ``rules`` have for "METHOD /path", and notes who asked what.

    A rule is a status, a document, bytes, or a function that does all of it with the handler.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.rules = {}
        self.asked = []
        self.ended = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def reset(self):
        self.rules.clear()
        self.asked.clear()

    def stand_still(self, _handler):
        """Take the request and never answer."""
        self.ended.wait(60)

    def handle_error(self, request, client_address):
        """Callers that went away are no news."""


@contextlib.contextmanager
def serving():
    server = Answers()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


def broken_off(handler):
    """Promise more than comes."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"half")
    handler.close_connection = True


class _Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        path = self.path.partition("?")[0]
        self.server.asked.append((f"{self.command} {path}", dict(self.headers)))
        rule = self.server.rules.get(f"{self.command} {path}", 404)
        if callable(rule):
            rule(self)
        else:
            self._send(rule)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - the names that are called

    def _send(self, rule):
        status, body = (rule, b"") if isinstance(rule, int) else (200, rule)
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        """Say nothing: the test says what matters."""
