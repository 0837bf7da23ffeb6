from tests.unit.api.conftest import IMAGE


def test_x(client):
    for path in ("/", "/v2.1", "/v2.1/", "/v2.1/flavors", "/v2.1/flavors/detail", "/v2.1/flavors/1", "/v2.1/servers", "/v2.1/servers/detail", "/v2.1/os-services", "/v2.1/os-availability-zone/detail", "/v2.1/limits", "/image/v2/images", "/network/v2.0/networks", "/v2.1/nowhere", "/v2.1/flavors/zz"):
        r = client.get(path, version="latest")
        print(path, r.status, r.text[:300], dict(r.headers) if path=="/v2.1/servers" else "")
    r = client.post("/v2.1/servers", {"server": {"name": "a", "imageRef": IMAGE, "flavorRef": "1", "networks": "auto"}}, version="2.96")
    print(r.status, r.text, r.headers)
    sid = r.json["server"]["id"]
    r = client.get("/v2.1/servers/" + sid, version="2.96")
    print(r.status, r.text, r.headers)
    r = client.get("/v2.1/servers/detail", version="2.96")
    print(r.status, r.text[:100], r.headers)
    r = client.delete("/v2.1/servers/" + sid)
    print(r.status, r.text, r.headers)
    r = client.delete("/v2.1/servers/" + sid)
    print(r.status, r.text, r.headers)
    assert 0
