"""Downloads are whole or not there, go only where they may, and are the same ever after."""

import hashlib

import pytest

from absentia.files import FileError
from absentia.papers.data import _downloading
from absentia.papers.data._downloading import checked_sum, demand_sum, download, kept_sum, record_sum
from webserver import redirect, serving, stall, status, whole

pytest.importorskip("pooch")

BODY = bytes(range(256)) * 1000
SUM = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(_downloading, "PAUSE", 0.0)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as one:
        yield one


@pytest.fixture
def get(server, tmp_path):
    """Download a path of the server."""

    def bring(*paths, checksum=None, timeout=60.0, retries=0):
        addresses = [path if "://" in path else server.base + path for path in paths]
        place = tmp_path / "deep" / "data.bin"
        return download(addresses, place, checksum=checksum, timeout=timeout, retries=retries)

    return bring


def left(tmp_path):
    return sorted(path.name for path in tmp_path.rglob("*") if path.is_file())


def test_a_whole_file_comes_as_it_is(server, get, tmp_path):
    server.answers["/a"] = whole(BODY)
    path = get("/a", checksum=SUM)
    assert path.read_bytes() == BODY
    assert left(tmp_path) == ["data.bin"]


def test_a_file_of_unknown_length_comes_too(server, get):
    server.answers["/a"] = whole(BODY, length=False)
    assert get("/a").read_bytes() == BODY


@pytest.mark.parametrize("said", [len(BODY) + 1, len(BODY) * 2])
def test_a_file_that_ends_too_early_is_not_kept_but_tried_again(server, get, tmp_path, said):
    server.answers["/a"] = whole(BODY, length=said)
    with pytest.raises(
        FileError, match=r"data\.bin: cannot be downloaded: http.*/a: came with .*\(3 tries\)"
    ):
        get("/a", retries=2)
    assert server.asked == ["/a"] * 3
    assert left(tmp_path) == []
    server.answers["/a"] = [whole(BODY, length=said), whole(BODY)]
    assert get("/a", retries=1).read_bytes() == BODY


def test_the_length_is_checked_even_if_the_library_does_not(server, get, monkeypatch):
    import urllib3

    real = urllib3.response.HTTPResponse.__init__

    def trusting(self, *args, **kwargs):
        real(self, *args, **{**kwargs, "enforce_content_length": False})

    monkeypatch.setattr(urllib3.response.HTTPResponse, "__init__", trusting)
    server.answers["/a"] = whole(BODY, length=len(BODY) + 7)
    with pytest.raises(FileError, match=rf"came with {len(BODY)} of {len(BODY) + 7} bytes"):
        get("/a")


def test_another_checksum_is_refused_at_once(server, get, tmp_path):
    server.answers["/a"] = whole(BODY + b"!")
    with pytest.raises(FileError, match=rf"has the SHA-256 [0-9a-f]{{64}}, not the {SUM} that is wanted"):
        get("/a", checksum=SUM, retries=5)
    assert server.asked == ["/a"]
    assert left(tmp_path) == []


def test_a_file_that_is_there_stays_when_a_download_fails(server, get, tmp_path):
    server.answers["/a"] = whole(BODY)
    path = get("/a")
    server.answers["/a"] = whole(b"other", length=100)
    with pytest.raises(FileError):
        get("/a")
    assert path.read_bytes() == BODY


def test_redirects_on_the_web_are_followed(server, get):
    server.answers |= {"/a": redirect("/b"), "/b": redirect(f"{server.base}/c"), "/c": whole(BODY)}
    assert get("/a").read_bytes() == BODY


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://x/", "data:,x"])
def test_redirects_elsewhere_are_refused(server, get, tmp_path, target):
    server.answers["/a"] = redirect(target)
    with pytest.raises(FileError, match="only http and https are followed"):
        get("/a", retries=3)
    assert server.asked == ["/a"]
    assert left(tmp_path) == []


@pytest.mark.parametrize("address", ["file:///etc/hostname", "ftp://x/y", "/etc/hostname"])
def test_addresses_elsewhere_are_refused(tmp_path, address):
    with pytest.raises(FileError, match="only http and https are followed"):
        download([address], tmp_path / "x", checksum=None, timeout=1.0, retries=0)


def test_no_way_leads_from_https_to_http():
    with pytest.raises(_downloading._FailedError, match="leads from https to 'http://b/'"):
        _downloading._check_scheme("http://b/", came_from="https://a/")
    _downloading._check_scheme("https://b/", came_from="http://a/")
    _downloading._check_scheme("http://b/", came_from="http://a/")


def test_endless_redirects_end(server, get):
    server.answers["/a"] = redirect("/a")
    with pytest.raises(FileError, match="cannot be downloaded"):
        get("/a")


@pytest.mark.parametrize("begun", [b"", b"some"])
def test_a_silent_server_is_left(server, get, tmp_path, begun):
    server.answers["/a"] = stall(begun)
    with pytest.raises(FileError, match=r"the server was silent for 0\.2 seconds \(2 tries\)"):
        get("/a", timeout=0.2, retries=1)
    assert left(tmp_path) == []


def test_what_is_not_there_is_asked_for_once(server, get):
    with pytest.raises(FileError, match="the server says 404"):
        get("/none", retries=3)
    assert server.asked == ["/none"]


def test_a_server_in_trouble_is_asked_again(server, get):
    server.answers["/a"] = [status(500), status(503), whole(BODY)]
    assert get("/a", retries=2).read_bytes() == BODY
    server.answers["/b"] = status(500)
    with pytest.raises(FileError, match=r"the server says 500 .*\(2 tries\)"):
        get("/b", retries=1)


def test_the_next_address_is_tried(server, get):
    server.answers["/b"] = whole(BODY)
    assert get("/a", "/b").read_bytes() == BODY
    with pytest.raises(FileError, match=r"/a: the server says 404.*; .*/c: the server says 404"):
        get("/a", "/c")


def test_nobody_at_the_address_is_said_shortly(get):
    with serving() as other:
        address = f"{other.base}/a"
    with pytest.raises(FileError, match=r"no connection \(\w+\)$"):
        get(address)


def test_too_large_a_file_is_refused(server, get, tmp_path, monkeypatch):
    monkeypatch.setattr(_downloading, "LARGEST", 1000)
    server.answers |= {"/said": whole(BODY), "/unsaid": whole(BODY, length=False)}
    for path in ("/said", "/unsaid"):
        with pytest.raises(FileError, match=r"bytes; at most"):
            get(path, retries=3)
    assert server.asked == ["/said", "/unsaid"]
    assert left(tmp_path) == []


def test_an_empty_file_is_no_file(server, get, tmp_path):
    server.answers["/a"] = whole(b"")
    with pytest.raises(FileError, match="came empty"):
        get("/a")
    assert left(tmp_path) == []


def test_lacking_pooch_the_extra_is_named(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileError, match=r'downloading needs pooch: pip install "absentia\[fetch\]"'):
        download(["http://x/"], tmp_path / "x", checksum=None, timeout=1.0, retries=0)


# ------------------------------------------------------------------------------------------- checksums


def test_what_came_first_is_what_counts(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(BODY)
    assert kept_sum(path) is None
    demand_sum(path, None)
    demand_sum(path, SUM)
    record_sum(path)
    assert (tmp_path / "a.sha256").read_text() == f"{SUM}  a\n"
    assert kept_sum(path) == SUM
    path.write_bytes(b"other")
    with pytest.raises(
        FileError, match=rf"not the {SUM} in a\.sha256; if the archive has changed it.*delete"
    ):
        demand_sum(path, None)
    record_sum(path)  # changes nothing
    assert kept_sum(path) == SUM
    path.unlink()
    assert kept_sum(path) == SUM


def test_a_file_must_have_the_checksum_that_is_asked_for(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(BODY)
    with pytest.raises(FileError, match=r"not the 0{64} that was asked for$"):
        demand_sum(path, "0" * 64)


def test_checksums_are_read_as_people_write_them(tmp_path):
    assert checked_sum(f" SHA256:{SUM.upper()} ") == SUM
    with pytest.raises(ValueError, match="is no SHA-256"):
        checked_sum("md5:abc")
    (tmp_path / "a").write_bytes(BODY)
    (tmp_path / "a.sha256").write_text("nonsense")
    with pytest.raises(FileError, match="a: checksum 'nonsense' is no SHA-256"):
        demand_sum(tmp_path / "a", None)
