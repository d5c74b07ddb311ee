"""Files over http, through fsspec, from a real server on this machine."""

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs import Views
from omvfs.formats import SourceError, open_source, open_writer
from support import dense
from web import serving

RNG = np.random.default_rng(0)
TEXT = np.where(RNG.random((300, 12)) < 0.3, RNG.integers(1, 9, (300, 12)), 0).astype(float)
TEXT[:, 0] = 1
NAMES = (
    *("rows.svm.gz", "rows.npz", "rows.npy", "rows.h5ad"),
    *("rows.csv.zst", "rows.parquet", "rows.feather", "rows.mat"),
)


@pytest.fixture
def web(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with serving() as web:
        yield web


def rows_of(address):
    with open_source(address) as source:
        return np.vstack([dense(chunk.views["rows"]) for chunk in source.chunks(64)])


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_every_format_is_read_over_http(tmp_path, web, name, ranges):
    with open_writer(tmp_path / name) as writer:
        writer.append(Views({"rows": sp.csr_array(TEXT)}))
    web.files[name], web.ranges = (tmp_path / name).read_bytes(), ranges
    np.testing.assert_array_equal(rows_of(web.url(name)), TEXT)


def test_what_goes_wrong_is_told_without_secrets(web):
    with pytest.raises(FileNotFoundError, match=r"/none\.npy") as caught:
        open_source(web.url("none.npy", "me:word@") + "?key=secret")
    assert "word" not in str(caught.value)
    assert "secret" not in str(caught.value)
    web.files["x.npy"] = b"nothing" * 9
    with pytest.raises(SourceError, match=r"x\.npy cannot be read") as caught:
        open_source(web.url("x.npy") + "?key=secret")
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_told(web):
    address = web.url("x.npy").replace(str(web.port), "1")
    with pytest.raises(OSError, match=r"127.0.0.1:1/x\.npy cannot be opened"):
        open_source(address)


def test_a_glob_of_the_web_is_no_glob(web):
    with pytest.raises(FileNotFoundError):
        open_source(web.url("x*.npy"))
