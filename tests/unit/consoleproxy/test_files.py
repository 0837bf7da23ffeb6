"""The files of pages, and no others."""

import pytest

from roost.consoleproxy.proxy import find


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "secret").write_text("no")
    folder = tmp_path / "novnc"
    (folder / "core").mkdir(parents=True)
    (folder / "vnc_lite.html").write_text("page")
    (folder / "core" / "rfb.js").write_text("module")
    return folder


@pytest.fixture
def folders(folder, tmp_path):
    spice = tmp_path / "spice-html5"
    spice.mkdir()
    (spice / "main.js").write_text("main")
    return {"": folder, "spice": spice}


def test_a_file_is_found_with_its_type_whatever_the_query(folders):
    page = find(folders, "/vnc_lite.html?path=%3Ftoken%3DT")
    assert (page.data, page.content_type) == (b"page", "text/html")
    module = find(folders, "/core/rfb.js")
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
        *("/..%2fsecret", "/spice/../secret", "/spice/..%2f..%2fsecret", "/spice", "/main.js"),
    ],
)
def test_nothing_else_is(folders, target):
    assert find(folders, target) is None


def test_no_absolute_path_leaves_the_folder(folders, tmp_path):
    assert find(folders, f"/{tmp_path}/secret") is None
    assert find(folders, f"/spice/{tmp_path}/secret") is None


def test_each_folder_has_a_place_and_may_be_left_out(folders):
    assert find(folders, "/spice/main.js").data == b"main"
    assert find({"spice": folders["spice"]}, "/vnc_lite.html") is None
    assert find({"": folders[""]}, "/spice/main.js") is None
