"""Files over http, from a real server on this machine that answers well or badly."""

import gzip
import io

import fsspec
import numpy as np
import pytest
import scipy.sparse as sp
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import Views
from omvfs.formats import SourceError, open_source, open_writer
from omvfs.formats._http import TIMEOUT, open_http
from support import dense
from web import serving, took

RNG = np.random.default_rng(0)
TEXT = np.where(RNG.random((300, 12)) < 0.3, RNG.integers(1, 9, (300, 12)), 0).astype(float)
TEXT[:, 0] = 1
ONE = "rows.svm", "rows.svm.gz", "rows.npz", "rows.npy", "rows.h5ad"
SEVERAL = (
    "rows.csv",
    "rows.csv.gz",
    "rows.csv.zst",
    "rows.jsonl",
    "rows.jsonl.zst",
    "rows.parquet",
    "rows.feather",
    "rows.h5mu",
    "rows.mat",
)
WORDS = b"".join(b"%d 1:1\n" % i for i in range(400_000))


@pytest.fixture
def web(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv(TIMEOUT, "0.3")
    with serving() as web:
        yield web


def written(folder, name):
    path = folder / name
    views = {"text": TEXT, "image": sp.csr_array(TEXT)}
    with open_writer(path) as writer:
        writer.append(Views(views if name in SEVERAL else {"rows": sp.csr_array(TEXT)}))
    return path.read_bytes()


def rows_of(address):
    with open_source(address) as source:
        chunks = [chunk.views for chunk in source.chunks(64)]
    first = chunks[0].names[0]
    return np.vstack([dense(views[first]) for views in chunks])


@pytest.mark.parametrize("how", ["ranges", "no ranges", "chunked"])
@pytest.mark.parametrize("name", ONE + SEVERAL)
def test_every_format_is_read_over_http(tmp_path, web, name, how):
    web.files[name] = written(tmp_path, name)
    web.ranges, web.chunked = how == "ranges", how == "chunked"
    np.testing.assert_array_equal(rows_of(web.url(name)), TEXT)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_read_from_anywhere(data):
    size = data.draw(st.sampled_from([0, 1, 100, (1 << 20) - 1, 1 << 20, 2_500_000]))
    content = np.random.default_rng(0).bytes(size)
    with serving() as web, pytest.MonkeyPatch.context() as patch:
        patch.setenv("no_proxy", "*")
        web.files["x"], web.ranges, web.chunked = (
            content,
            *data.draw(
                st.sampled_from([(True, False), (False, False), (False, True), (True, True)])
            ),
        )
        with open_http(web.url("x")) as file:
            told = io.BytesIO(content)
            for place, n in data.draw(
                st.lists(
                    st.tuples(st.integers(0, 3_000_000), st.integers(0, 2_000_000)), max_size=6
                )
            ):
                back = data.draw(st.sampled_from([0, 2]))
                where = (min(place, size), 0) if not back else (-min(place, size), 2)
                assert file.seek(*where) == told.seek(*where)
                assert file.read(n) == told.read(n)
                assert file.readline(50) == told.readline(50)


def test_there_is_nothing_before_the_first_byte(web):
    web.files["x.npz"] = b"abc"
    with open_http(web.url("x.npz")) as file:
        assert file.read(2) == b"ab"
        with pytest.raises(OSError, match="before the first byte"):
            file.seek(-4, 2)
        assert file.read() == b"c"
    with pytest.raises(SourceError, match=r"no \.npz file"):
        open_source(web.url("x.npz"))


def test_a_file_is_read_as_it_comes_by_one_request(web):
    web.files["rows.svm"], web.ranges = WORDS, False
    with open_http(web.url("rows.svm")) as file:
        assert sum(len(line) for line in file) == len(WORDS)
    assert len(web.asked) == 1


def test_an_array_is_fetched_once_where_there_are_no_ranges(tmp_path, web):
    np.save(tmp_path / "x.npy", np.arange(600_000.0).reshape(-1, 3))
    web.files["x.npy"], web.ranges = (tmp_path / "x.npy").read_bytes(), False
    with open_source(web.url("x.npy")) as source:
        rows = [chunk.views["x"] for chunk in source.chunks(9_000)]
    np.testing.assert_array_equal(np.vstack(rows), np.arange(600_000.0).reshape(-1, 3))
    assert len(web.asked) <= 3


def test_text_goes_on_where_it_was(web):
    web.files["rows.svm"] = b"".join(b"0 %d:1 # %b\n" % (i + 1, b"-" * 10_000) for i in range(400))
    source = open_source(web.url("rows.svm"))
    first = next(source.chunks(300))
    web.asked.clear()
    (rest,) = source.chunks(300, first.cursor)
    assert rest.start == 300
    np.testing.assert_array_equal(rest.views["rows"].indices, range(300, 400))
    assert [asked for _, asked, _ in web.asked] == [None, f"bytes={2 << 20}-"]


@pytest.mark.parametrize("chunked", [False, True])
def test_what_is_cut_off_now_and_then_is_asked_for_again(web, chunked):
    web.files["x"], web.cut_after, web.cuts, web.chunked = WORDS, 500_000, 3, chunked
    with open_http(web.url("x")) as file:
        assert file.read() == WORDS
    assert [asked is None for _, asked, _ in web.asked] == [True, False, False, False]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("how", "value"), [("ranges", False), ("tag", None), ("cuts", 10**9)])
def test_what_is_cut_off_for_good_is_told(web, how, value, chunked):
    web.files["rows.jsonl"] = b'{"text": [1, 2]}\n' * 9_000
    web.cut_after, web.cuts, web.chunked = 17_000, 1, chunked
    setattr(web, how, value)
    sentence = r"127\.0\.0\.1:\d+/rows\.jsonl was cut off after [\d,]+ bytes"
    with pytest.raises(SourceError, match=sentence):
        open_source(web.url("rows.jsonl"))
    assert len(web.asked) < 10


@pytest.mark.parametrize(
    "name", ["rows.csv", "rows.jsonl.gz", "rows.npz", "rows.parquet", "rows.h5ad", "rows.mat"]
)
@pytest.mark.parametrize("after", [-1, 600])
def test_a_server_that_falls_silent_is_told_in_time(tmp_path, web, name, after):
    web.files[name], web.stall_after = written(tmp_path, name), after

    def read():
        sentence = rf"127\.0\.0\.1:\d+/{name} cannot be read: no answer within 0\.3 seconds"
        with pytest.raises(OSError, match=sentence):
            rows_of(web.url(name, "me:word@") + "?signature=word")

    assert took(read) < 5


def test_a_file_that_changes_while_it_is_read_is_told(web):
    web.files["x"] = WORDS
    with open_http(web.url("x")) as file:
        file.read(10)
        web.tag = '"2"'
        file.seek(-10, 2)
        with pytest.raises(SourceError, match="has changed while it was read"):
            file.read(10)


@pytest.mark.parametrize(
    ("code", "kind", "sentence"),
    [
        (404, FileNotFoundError, "There is no file"),
        (403, PermissionError, "may not be read: 403 Forbidden"),
        (503, OSError, "the server says 503 Service Unavailable"),
        (302, OSError, "302 Found, too often or to where is not followed"),
    ],
)
def test_what_the_server_says_is_told_without_secrets(web, code, kind, sentence):
    web.code, address = code, web.url("rows.npy", "me:pass%20word@") + "?signature=word"
    web.headers = {"Location": address.replace("me:pass%20word@", "")} if code == 302 else {}
    with pytest.raises(kind, match=sentence) as caught:
        open_source(address)
    assert "word" not in str(caught.value)
    assert len(web.asked) < 10
    assert web.asked[0][2] == "Basic bWU6cGFzcyB3b3Jk"


def test_who_asks_is_not_told_to_another(web):
    with serving() as other:
        other.files["x"] = b"found"
        web.code, web.headers = 302, {"Location": other.url("x")}
        with open_http(web.url("x", "me:word@")) as file:
            assert file.read() == b"found"
        assert other.asked == [("/x", None, None)]
        web.headers = {"Location": "ftp://127.0.0.1/x"}
        with pytest.raises(OSError, match="302 Found, too often or to where is not followed"):
            open_http(web.url("x"))


def test_what_nobody_can_take_for_the_file_is_refused(web):
    web.files["x"], web.length = b"rows", False
    with pytest.raises(SourceError, match=r"comes without its length.*Download the file first"):
        open_http(web.url("x"))
    web.length, web.headers = True, {"Content-Encoding": "gzip"}
    with pytest.raises(SourceError, match="comes encoded as 'gzip'"):
        open_http(web.url("x"))
    web.files["x.gz"] = gzip.compress(b"rows")
    with open_http(web.url("x.gz")) as file:
        assert gzip.decompress(file.read()) == b"rows"


@pytest.mark.parametrize(
    "address",
    ["http://me:word@host:port/x.npy", "http://[/x.npy", "http:///x.npy", "http://\n/x.npy"],
)
def test_what_is_no_address_is_told_without_secrets(web, address):
    with pytest.raises(OSError, match="cannot be read") as caught:
        open_source(address)
    assert "word" not in str(caught.value)


@pytest.mark.parametrize("seconds", ["soon", "0", "-1", "inf", "nan"])
def test_a_time_that_is_none_is_told(web, monkeypatch, seconds):
    monkeypatch.setenv(TIMEOUT, seconds)
    with pytest.raises(SourceError, match=f"{TIMEOUT} is '{seconds}'; expected seconds"):
        open_http(web.url("x"))


class _Stored(AbstractBufferedFile):
    """A file of fsspec as those of s3 and others are: read by ranges of bytes."""

    def _fetch_range(self, start, end):
        return self.fs.content[start:end]


class _Storage(AbstractFileSystem):
    protocol, content, cachable = "stored", b"", False

    def info(self, path, **_):
        return {"name": path, "size": len(self.content), "type": "file"}

    def _open(self, path, mode="rb", block_size=None, **_):
        return _Stored(self, path, mode, 1 << 16)


@pytest.mark.parametrize("name", ONE + SEVERAL)
def test_every_format_is_read_by_fsspec(tmp_path, name):
    fsspec.register_implementation("stored", _Storage, clobber=True)
    _Storage.content = written(tmp_path, name)
    np.testing.assert_array_equal(rows_of(f"stored://bucket/{name}"), TEXT)
