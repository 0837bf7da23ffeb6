"""The files of noVNC, and no others."""

import pytest

from roost.consoleproxy.files import find


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "secret").write_text("no")
    folder = tmp_path / "novnc"
    (folder / "core").mkdir(parents=True)
    (folder / "vnc_lite.html").write_text("page")
    (folder / "core" / "rfb.js").write_text("module")
    return folder


def test_a_file_is_found_with_its_type_whatever_the_query(folder):
    page = find(folder, "/vnc_lite.html?path=%3Ftoken%3DT")
    assert (page.data, page.content_type) == (b"page", "text/html")
    module = find(folder, "/core/rfb.js")
    assert (module.data, module.content_type) == (b"module", "text/javascript")


@pytest.mark.parametrize(
    "target",
    [
        *("/", "/core", "/core/", "/missing", "/%00"),
        *(
            "/../secret",
            "/%2e%2e/secret",
            "//../secret",
            "/core/../../secret",
            "/core/%2e./../secret",
        ),
        "/..%2fsecret",
    ],
)
def test_nothing_else_is(folder, target):
    assert find(folder, target) is None


def test_no_absolute_path_leaves_the_folder(folder, tmp_path):
    assert find(folder, f"/{tmp_path}/secret") is None
    assert find(None, "/vnc_lite.html") is None
