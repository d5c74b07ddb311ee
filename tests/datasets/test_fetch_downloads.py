"""Downloads from a server on this machine, hashes, and what is said where there is neither."""

import hashlib
import sys
from pathlib import Path

import pytest

from omvfs.datasets import fetch_cnn, fetch_fox, fetch_reuters_multilingual, get_data_home
from originals import news_files, reuters_archive, serving

ARCHIVE = "rcv1rcv2aminigoutte.tar.bz2"


@pytest.fixture
def server(tmp_path):
    with serving() as served:
        served.files[ARCHIVE] = reuters_archive(tmp_path / "origin").read_bytes()
        yield served


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def files_in(home):
    return sorted(path.name for path in home.rglob("*") if path.is_file())


def sha256(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def test_what_is_missing_is_fetched_once_and_its_hash_kept(server, home):
    data = fetch_reuters_multilingual(data_home=home, base_url=server.url)
    assert len(data.views) == 10
    assert server.asked == [f"/data/{ARCHIVE}"]
    assert files_in(home) == [ARCHIVE, ARCHIVE + ".sha256"]
    kept = (home / "reuters" / (ARCHIVE + ".sha256")).read_text()
    assert kept.strip() == sha256(server.files[ARCHIVE])
    again = fetch_reuters_multilingual(data_home=home, base_url=server.url + "/")
    assert len(again.views) == 10
    assert len(server.asked) == 1


def test_what_is_there_is_read_without_pooch(home, monkeypatch):
    reuters_archive(home)
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert len(fetch_reuters_multilingual(data_home=home).views) == 10
    with pytest.raises(ImportError, match=r"pip install omvfs\[datasets\]"):
        fetch_reuters_multilingual(data_home=home / "other")


def test_without_leave_to_download_the_error_says_what_to_put_where(server, home):
    with pytest.raises(FileNotFoundError) as caught:
        fetch_reuters_multilingual(data_home=home, base_url=server.url, download_if_missing=False)
    message = str(caught.value)
    assert "download_if_missing is False" in message
    assert str(home / "reuters" / ARCHIVE) in message
    assert "EN/Index_EN-EN" in message
    assert not server.asked
    assert not home.exists()


@pytest.mark.parametrize(("fetch", "name"), [(fetch_fox, "FOX"), (fetch_cnn, "CNN")])
def test_where_no_address_lasts_the_error_names_every_file_and_variable(fetch, name, home):
    with pytest.raises(FileNotFoundError) as caught:
        fetch(data_home=home)
    message = str(caught.value)
    for part in ("TFIDF_Normalized", "imageFeatureNormalizedMat", "labelMat", "base_url="):
        assert part in message
    assert str(home / name.lower() / f"{name}_LabelMat.mat") in message


def test_several_files_come_from_one_address(server, home, tmp_path):
    news_files(tmp_path)
    for path in (tmp_path / "fox").iterdir():
        server.files[path.name] = path.read_bytes()
    hashes = {name: sha256(content) for name, content in server.files.items() if "FOX" in name}
    data = fetch_fox(data_home=home, base_url=server.url, known_hash=hashes)
    assert data.views.names == ("text", "image")
    assert len(server.asked) == 3


def test_a_known_hash_is_checked_before_anything_is_kept(server, home):
    with pytest.raises(ValueError, match="was not kept"):
        fetch_reuters_multilingual(
            data_home=home, base_url=server.url, known_hash="sha256:" + "0" * 64
        )
    assert files_in(home) == []
    md5 = "md5:" + hashlib.md5(server.files[ARCHIVE]).hexdigest().upper()
    fetch_reuters_multilingual(
        data_home=home, base_url=server.url, known_hash=sha256(server.files[ARCHIVE])
    )
    assert fetch_reuters_multilingual(data_home=home, known_hash=md5).n_classes == 6
    with pytest.raises(ValueError, match=r"has the hash md5:.*expected md5:0000"):
        fetch_reuters_multilingual(data_home=home, known_hash="md5:" + "0" * 32)


def test_a_file_that_changes_after_its_first_use_is_refused(home):
    path = reuters_archive(home)
    fetch_reuters_multilingual(data_home=home)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ValueError, match="first used"):
        fetch_reuters_multilingual(data_home=home)
    # Someone who knows better says so, and is believed from then on.
    fetch_reuters_multilingual(data_home=home, known_hash=sha256(path.read_bytes()))
    fetch_reuters_multilingual(data_home=home)


def test_the_first_hash_outlives_the_file(server, home):
    fetch_reuters_multilingual(data_home=home, base_url=server.url)
    (home / "reuters" / ARCHIVE).unlink()
    server.files[ARCHIVE] += b"\0"
    with pytest.raises(ValueError, match=r"was not kept.*first used.*\.sha256"):
        fetch_reuters_multilingual(data_home=home, base_url=server.url)
    assert files_in(home) == [ARCHIVE + ".sha256"]


def test_a_download_that_breaks_off_leaves_nothing(server, home):
    server.breaks_off = True
    with pytest.raises(OSError, match="could not be fetched"):
        fetch_reuters_multilingual(data_home=home, base_url=server.url)
    assert files_in(home) == []
    server.breaks_off = False
    assert len(fetch_reuters_multilingual(data_home=home, base_url=server.url).views) == 10


def test_an_address_without_the_file_is_named(server, home):
    del server.files[ARCHIVE]
    with pytest.raises(OSError, match=rf"{server.url}/{ARCHIVE} could not be fetched.*404"):
        fetch_reuters_multilingual(data_home=home, base_url=server.url)
    assert files_in(home) == []


@pytest.mark.parametrize(
    ("known_hash", "why"),
    [
        ("sha256:12", "expected 'sha256:<digits>'"),
        ("crc32:" + "0" * 32, "expected 'sha256:<digits>'"),
        ({"other.tar": "0" * 64}, "other.tar"),
    ],
)
def test_a_hash_that_is_none_is_refused(known_hash, why, home):
    reuters_archive(home)
    with pytest.raises(ValueError, match=why):
        fetch_reuters_multilingual(data_home=home, known_hash=known_hash)


def test_one_hash_is_not_enough_for_three_files(home):
    with pytest.raises(ValueError, match="one known_hash for 3 files"):
        fetch_fox(data_home=home, known_hash="0" * 64)


def test_a_kept_hash_that_is_none_is_named(home):
    path = reuters_archive(home)
    path.with_name(path.name + ".sha256").write_text("nothing")
    with pytest.raises(ValueError, match="holds no hash"):
        fetch_reuters_multilingual(data_home=home)


def test_a_hash_that_cannot_be_kept_is_no_reason_not_to_read(home, caplog):
    path = reuters_archive(home)
    path.with_name(path.name + ".sha256").mkdir()
    assert len(fetch_reuters_multilingual(data_home=home).views) == 10
    assert "cannot be kept" in caplog.text


def test_the_data_home_is_given_or_by_environment_or_in_the_users_home(monkeypatch, tmp_path):
    monkeypatch.setenv("OMVFS_DATA", str(tmp_path))
    assert get_data_home() == tmp_path
    assert get_data_home("~/x") == Path.home() / "x"
    reuters_archive(tmp_path)
    assert len(fetch_reuters_multilingual(download_if_missing=False).views) == 10
    monkeypatch.delenv("OMVFS_DATA")
    assert get_data_home() == Path.home() / "omvfs_data"
