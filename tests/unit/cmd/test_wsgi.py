import os
import subprocess
import sys
from concurrent import futures

import pytest

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


_PUT_TOGETHER = """
import sys
from roost.cmd import wsgi
application = wsgi._make(sys.argv[1:])
"""
_LISTENS = _PUT_TOGETHER.replace("wsgi", "api").replace("_make", "app_of")


@pytest.mark.parametrize(
    ("code", "listen", "warns"),
    [
        (_PUT_TOGETHER, "127.0.0.1", True),  # another server may serve it anywhere
        (_LISTENS, "127.0.0.1", False),
        (_LISTENS, "0.0.0.0", True),
    ],
)
def test_an_api_that_believes_everybody_warns_as_it_is_put_together(
    config_file, tmp_path, code, listen, warns
):
    text = config_file.read_text() + f"[api]\nauth_strategy = noauth\nlisten = {listen}\n"
    config_file.write_text(text)
    log = tmp_path / "roost.log"
    arguments = [f"--config-file={config_file}", f"--log-file={log}"]
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code + "import os\nos._exit(0)\n", *arguments],
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert ("auth_strategy is noauth" in log.read_text()) == warns
