"""Data sets by name: where they are looked for, what is downloaded, and what is said when it cannot be."""

import hashlib
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from absentia import datasets, papers
from absentia.files import FileError
from absentia.papers import CATALOGUE, _fetching
from absentia.papers._fetching import _Remote
from helpers.webserver import redirect, serving, stall, status, whole

HEART = b"70.0 1.0 2\n67.0 0.0 1\n"
OTHER = b"1.0 1.0 2\n2.0 0.0 1\n"


@pytest.fixture
def server(monkeypatch, tmp_path):
    """The catalogue with one data set at a server of our own, and nothing of the user's around."""
    pytest.importorskip("pooch")
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("ABSENTIA_DATA", raising=False)
    monkeypatch.setenv("ABSENTIA_CACHE", str(tmp_path / "cache"))
    with serving() as one:
        heart = replace(
            CATALOGUE["uci_heart"], files=(_Remote("heart.dat", (f"{one.base}/heart.dat",)),), shape=(2, 2)
        )
        digits = replace(
            CATALOGUE["mfeat"],
            files=tuple(
                _Remote(file.name, (f"{one.base}/{file.name}",)) for file in CATALOGUE["mfeat"].files
            ),
            shape=None,
        )
        monkeypatch.setattr(_fetching, "CATALOGUE", {**CATALOGUE, "uci_heart": heart, "mfeat": digits})
        one.answers["/heart.dat"] = whole(HEART)
        yield one


def values(data):
    return data.views.block("x").ravel().tolist()


def test_what_is_nowhere_is_downloaded_once(server, tmp_path):
    data = papers.fetch("uci_heart")
    assert values(data) == [70, 1, 67, 0]
    assert data.target.tolist() == [1, -1]
    assert "Statlog" in data.DESCR
    kept = tmp_path / "cache" / "uci_heart"
    assert sorted(path.name for path in kept.iterdir()) == ["heart.dat", "heart.dat.sha256"]
    assert hashlib.sha256(HEART).hexdigest() in (kept / "heart.dat.sha256").read_text()
    server.answers.clear()
    assert values(papers.fetch("uci_heart")) == [70, 1, 67, 0]
    assert server.asked == ["/heart.dat"]


def test_the_cache_does_without_pooch(server, monkeypatch):
    papers.fetch("uci_heart")
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert values(papers.fetch("uci_heart")) == [70, 1, 67, 0]


def test_lacking_pooch_and_a_cache_the_extra_is_named(server, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileError, match=r'downloading needs pooch: pip install "absentia\[fetch\]"'):
        papers.fetch("uci_heart", folder=tmp_path)
    monkeypatch.delenv("ABSENTIA_CACHE")
    with pytest.raises(FileError, match=r'absentia\[fetch\]"; or give folder=, or set ABSENTIA_DATA'):
        papers.fetch("uci_heart")


def test_without_the_variable_the_cache_is_that_of_the_system(server, monkeypatch):
    import pooch

    monkeypatch.delenv("ABSENTIA_CACHE")
    assert _fetching._find_cache() == pooch.os_cache("absentia")


def test_a_folder_is_looked_in_first_and_downloaded_into(server, tmp_path, monkeypatch):
    own, data = tmp_path / "own", tmp_path / "data"
    papers.fetch("uci_heart", folder=own)
    assert (own / "uci_heart" / "heart.dat").exists()
    assert not (tmp_path / "cache").exists()
    data.mkdir()
    (data / "heart.dat").write_bytes(OTHER)
    monkeypatch.setenv("ABSENTIA_DATA", str(data))
    assert values(papers.fetch("uci_heart")) == [1, 1, 2, 0]  # the user's before the cache
    assert not (data / "heart.dat.sha256").exists()  # nothing is written there
    assert values(papers.fetch("uci_heart", folder=own)) == [70, 1, 67, 0]
    assert server.asked == ["/heart.dat"]


def test_arrays_that_somebody_made_are_taken_where_they_are(server, tmp_path, monkeypatch):
    np.savez(tmp_path / "uci_heart.npz", view_x=[[1.0, 2.0], [3.0, 4.0]], y=[1, -1])
    monkeypatch.setenv("ABSENTIA_DATA", str(tmp_path))
    data = papers.fetch("uci_heart")
    assert values(data) == [1, 2, 3, 4]
    assert data.target.tolist() == [1, -1]
    assert server.asked == []


def test_a_file_that_differs_from_what_came_first_is_refused(server, tmp_path):
    papers.fetch("uci_heart")
    kept = tmp_path / "cache" / "uci_heart" / "heart.dat"
    kept.write_bytes(OTHER)
    with pytest.raises(
        FileError, match=r"heart\.dat: has the SHA-256 .* in heart\.dat\.sha256; if the archive"
    ):
        papers.fetch("uci_heart")
    kept.unlink()
    server.answers["/heart.dat"] = whole(OTHER)
    with pytest.raises(FileError, match=r"does not match the known hash.*; or get it by hand"):
        papers.fetch("uci_heart")
    assert not kept.exists()
    server.answers["/heart.dat"] = whole(HEART)
    assert values(papers.fetch("uci_heart")) == [70, 1, 67, 0]


def test_a_checksum_may_be_written_down_before(server, tmp_path):
    place = tmp_path / "cache" / "uci_heart"
    place.mkdir(parents=True)
    (place / "heart.dat.sha256").write_text("0" * 64)
    with pytest.raises(FileError, match=r"does not match the known hash: expected 0{64}"):
        papers.fetch("uci_heart")
    assert [path.name for path in place.iterdir()] == ["heart.dat.sha256"]
    (place / "heart.dat.sha256").write_text(f"{hashlib.sha256(HEART).hexdigest().upper()}  heart.dat\n")
    assert values(papers.fetch("uci_heart")) == [70, 1, 67, 0]
    (place / "heart.dat.sha256").write_text("nonsense")
    with pytest.raises(FileError, match=r"'nonsense' is no SHA-256"):
        papers.fetch("uci_heart")


def test_a_part_of_a_file_from_before_is_not_taken_for_it(server, tmp_path):
    kept = tmp_path / "cache" / "uci_heart"
    kept.mkdir(parents=True)
    (kept / ".heart.dat.0123abcd-99999999-deadbeef.part").write_bytes(HEART[:5])
    (kept / "heart.dat.part").write_bytes(HEART[:5])
    assert values(papers.fetch("uci_heart")) == [70, 1, 67, 0]
    assert server.asked == ["/heart.dat"]


def test_a_page_in_place_of_the_file_is_not_kept(server, tmp_path):
    server.answers["/heart.dat"] = whole(b"<html><body>we have moved</body></html>")
    with pytest.raises(FileError, match=r"heart\.dat: .*\(what was just downloaded is not kept\)"):
        papers.fetch("uci_heart")
    assert list((tmp_path / "cache" / "uci_heart").iterdir()) == []


def test_of_several_only_the_bad_one_is_thrown_away(server, tmp_path):
    names = [file.name for file in CATALOGUE["mfeat"].files]
    server.answers |= {f"/{name}": whole(b"3 4\n" * 10) for name in names}
    server.answers[f"/{names[2]}"] = whole(b"<html>\n")
    with pytest.raises(FileError, match=rf"{names[2]}: '<html>' is no number.* not kept"):
        papers.fetch("mfeat")
    left = [path.name for path in (tmp_path / "cache" / "mfeat").iterdir()]
    assert sorted(left) == sorted(set(names) - {names[2]})


def test_files_in_an_earlier_place_go_before_arrays_in_a_later_one(server, tmp_path, monkeypatch):
    own = tmp_path / "own"
    own.mkdir()
    (own / "heart.dat").write_bytes(OTHER)
    np.savez(tmp_path / "uci_heart.npz", view_x=[[1.0, 2.0], [3.0, 4.0]], y=[1, -1])
    monkeypatch.setenv("ABSENTIA_DATA", str(tmp_path))
    assert values(papers.fetch("uci_heart", folder=own)) == [1, 1, 2, 0]
    assert values(papers.fetch("uci_heart")) == [1, 2, 3, 4]


def test_what_the_user_put_there_stays_though_it_cannot_be_read(server, tmp_path):
    place = tmp_path / "cache" / "uci_heart"
    place.mkdir(parents=True)
    (place / "heart.dat").write_text("nonsense\n")
    with pytest.raises(FileError, match=r"heart\.dat: class 'nonsense'"):
        papers.fetch("uci_heart")
    assert [path.name for path in place.iterdir()] == ["heart.dat"]


def test_of_several_files_only_those_that_lack_are_brought(server, tmp_path):
    place = tmp_path / "cache" / "mfeat"
    place.mkdir(parents=True)
    names = [file.name for file in CATALOGUE["mfeat"].files]
    for name in names[:4]:
        (place / name).write_text("1 2\n" * 10)
    server.answers |= {f"/{name}": whole(b"3 4\n" * 10) for name in names[4:]}
    data = papers.fetch("mfeat")
    assert data.views.names == ("fou", "fac", "kar", "pix", "zer", "mor")
    assert sorted(server.asked) == sorted(f"/{name}" for name in names[4:])
    assert len(list(place.glob("*.sha256"))) == 6


def test_an_address_that_fails_is_named_with_the_place_to_put_the_file(server, tmp_path):
    server.answers["/heart.dat"] = status(404)
    with pytest.raises(FileError) as error:
        papers.fetch("uci_heart")
    said = str(error.value)
    assert f"{server.base}/heart.dat: the server says 404" in said
    assert "by hand from there or from https://archive.ics.uci.edu/dataset/145" in said
    assert f"put it into {tmp_path / 'cache' / 'uci_heart'}" in said
    assert f"looked in {tmp_path / 'cache'}" in said


def test_what_has_no_address_is_said_before_anything_is_downloaded(server, tmp_path):
    with pytest.raises(FileError, match=r"plant\.mat has to be got by hand.*See http://raetschlab"):
        papers.fetch("plant")
    with pytest.raises(FileError, match=r"labels\.txt\.gz or labels\.txt or .* has to be got by hand"):
        papers.fetch("yeast", folder=tmp_path)


def test_other_sizes_than_known_are_warned_of(server, monkeypatch):
    entry = _fetching.CATALOGUE["uci_heart"]
    monkeypatch.setitem(_fetching.CATALOGUE, "uci_heart", replace(entry, shape=(270, 13)))
    with pytest.warns(UserWarning, match=r"2 samples and widths \[2\] came, not 270 x 13"):
        papers.fetch("uci_heart")


def test_a_read_only_cache_will_do(server, tmp_path, monkeypatch):
    papers.fetch("uci_heart")
    (tmp_path / "cache" / "uci_heart" / "heart.dat.sha256").unlink()

    def refuse(path):
        raise FileError("read only")

    monkeypatch.setattr(_fetching, "_record_checksum", refuse)
    assert values(papers.fetch("uci_heart")) == [70, 1, 67, 0]


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="no data set 'uci_hart'; did you mean uci_heart"):
        papers.fetch("uci_hart")
    with pytest.raises(ValueError, match=r"no data set '\.\./x'; choose one of uci_heart"):
        papers.fetch("../x")


@pytest.mark.parametrize("name", sorted(set(CATALOGUE) & set(datasets.BENCHMARKS)))
def test_the_arrays_at_hand_have_the_sizes_of_the_catalogue(data_folder, monkeypatch, name):
    monkeypatch.setenv("ABSENTIA_DATA", str(data_folder))
    data = papers.fetch(name).views
    assert (len(data), *(data.block(view).shape[1] for view in data.names)) == CATALOGUE[name].shape


# ------------------------------------------------------------------------------------------- downloads

BODY = bytes(range(256)) * 1000


@pytest.fixture
def get(server, tmp_path):
    """Download paths of the server."""
    return lambda *paths: _fetching._download(
        [server.base + path for path in paths], tmp_path / "deep" / "data.bin"
    )


def left(tmp_path):
    return sorted(path.name for path in tmp_path.rglob("*") if path.is_file())


def test_a_whole_file_comes_as_it_is_whether_or_not_its_length_is_known(server, get, tmp_path):
    server.answers |= {"/a": whole(BODY), "/b": whole(BODY, length=False)}
    for path in ("/a", "/b"):
        assert get(path).read_bytes() == BODY
        assert left(tmp_path) == ["data.bin"]
        (tmp_path / "deep" / "data.bin").unlink()


def test_a_file_that_ends_too_early_is_not_kept_but_tried_again(server, get, tmp_path):
    server.answers["/a"] = whole(BODY, length=len(BODY) + 1)
    with pytest.raises(FileError, match=r"data\.bin: cannot be downloaded: http.*/a: "):
        get("/a")
    assert server.asked == ["/a"] * 3
    assert left(tmp_path) == []
    server.answers["/a"] = [whole(BODY, length=len(BODY) + 1), whole(BODY)]
    assert get("/a").read_bytes() == BODY


def test_redirects_on_the_web_are_followed_and_others_refused(server, get, tmp_path):
    server.answers |= {"/a": redirect("/b"), "/b": redirect(f"{server.base}/c"), "/c": whole(BODY)}
    assert get("/a").read_bytes() == BODY
    (tmp_path / "deep" / "data.bin").unlink()
    for target in ("file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x", "/loop"):
        server.answers["/loop"] = redirect(target)
        with pytest.raises(FileError, match="cannot be downloaded"):
            get("/loop")
        assert left(tmp_path) == []


def test_no_way_leads_from_https_to_http():
    answer = SimpleNamespace(
        is_redirect=True, url="https://a/", headers={"location": "http://b/"}, status_code=302
    )
    with pytest.raises(_fetching._RefusedError, match="leads from https to 'http://b/'"):
        _fetching._check_response(answer)
    answer.headers = {"location": "/c"}
    _fetching._check_response(answer)
    answer.url, answer.headers = "http://a/", {"location": "https://b/"}
    _fetching._check_response(answer)


@pytest.mark.parametrize("begun", [b"", b"some"])
def test_a_silent_server_is_left(server, get, tmp_path, monkeypatch, begun):
    monkeypatch.setattr(_fetching, "_TIMEOUT", 0.2)
    server.answers["/a"] = stall(begun)
    with pytest.raises(FileError, match="timed out"):
        get("/a")
    assert left(tmp_path) == []


def test_what_is_not_there_is_asked_for_once_and_the_next_address_tried(server, get):
    server.answers["/b"] = whole(BODY)
    assert get("/a", "/b").read_bytes() == BODY
    assert server.asked == ["/a", "/b"]
    (get("/b")).unlink()
    with pytest.raises(FileError, match=r"/a: the server says 404.*; .*/c: the server says 404"):
        get("/a", "/c")


def test_a_server_in_trouble_is_asked_again(server, get):
    server.answers["/a"] = [status(500), status(503), whole(BODY)]
    assert get("/a").read_bytes() == BODY


def test_too_large_and_empty_files_are_refused(server, get, tmp_path, monkeypatch):
    monkeypatch.setattr(_fetching, "_MAX_BYTES", 1000)
    server.answers |= {"/large": whole(BODY), "/empty": whole(b"")}
    with pytest.raises(FileError, match="has 256000 bytes; at most 1000 are taken"):
        get("/large")
    with pytest.raises(FileError, match="the file is empty"):
        get("/empty")
    assert server.asked == ["/large", "/empty"]
    assert left(tmp_path) == []
