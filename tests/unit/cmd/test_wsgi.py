import os
import subprocess
import sys
from concurrent import futures

from roost.cmd.wsgi import Application


def test_the_application_is_made_once_by_the_first_request():
    made = []

    def make(arguments):
        made.append(arguments)
        return lambda environ, start_response: [environ["PATH_INFO"].encode()]

    application = Application(["--config-file=x"], make)
    assert made == []
    with futures.ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda _: application({"PATH_INFO": "/"}, None), range(5)))
    assert answers == [[b"/"]] * 5
    assert made == [["--config-file=x"]]


def test_the_files_named_in_the_environment_choose_the_concurrency(tmp_path):
    config = tmp_path / "roost.conf"
    config.write_text("[DEFAULT]\nconcurrency = eventlet\n")
    code = "from roost.cmd import wsgi; from roost import concurrency as c; print(c.selected())"
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "ROOST_CONFIG": str(config)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert ran.stdout == "eventlet\n"
