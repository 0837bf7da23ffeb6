"""The smallest API that there can be. Run as a process by the tests of an API's life."""

from roost import concurrency

concurrency.select()

import os
import sys
import time

from roost.cmd import _granian, _http, _options, _run
from roost.cmd._daemon import Daemon


def app(environ, start_response):
    if environ["PATH_INFO"].startswith("/slow"):
        print("begins slow", flush=True)
        time.sleep(2)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {concurrency.selected()}".encode()]


def make_app():
    time.sleep(1)  # long enough to tell a port that listens from one that answers
    return app


def build(conf):
    server = _http.in_process(app, host=str(conf.api.listen), port=conf.api.port, threads=4)
    return Daemon("hello", servers=[server])


def main():
    conf = _options.load("hello", sys.argv[1:])
    if concurrency.selected() == concurrency.EVENTLET:
        _run.run(conf, build)
    _granian.run(conf, name="hello", make_app=make_app)


if __name__ == "__main__":
    main()
