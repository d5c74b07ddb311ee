"""Reuters Multilingual: the archive of index files."""

import numpy as np
import pytest

from omvfs.datasets import fetch_reuters_multilingual
from omvfs.formats import SourceError
from originals import reuters_archive, reuters_files, write_tar

ROOT = "rcv1rcv2aminigoutte/"


def changed(home, name, content):
    """Write the archive with another content of one file, None for no such file."""
    files = {**reuters_files(), ROOT + name: content}
    return reuters_archive(home, {n: text for n, text in files.items() if text is not None})


def load(home, **options):
    return fetch_reuters_multilingual(data_home=home, download_if_missing=False, **options)


def test_a_view_is_a_language_and_its_rows_are_the_documents_of_all_five(tmp_path):
    reuters_archive(tmp_path)
    data = load(tmp_path)
    assert data.name == "reuters"
    assert data.views.names == ("english", "french")
    english, french = data.views["english"], data.views["french"]
    assert english.shape == (10, 21_531)
    assert french.shape == (10, 24_893)
    np.testing.assert_array_equal(english[[0, 2]][:, [0, 9]].toarray(), [[1.5, -0.25]] * 2)
    np.testing.assert_array_equal(french[[8]][:, [0, 10]].toarray(), [[2.5, -0.25]])
    assert english.nnz == french.nnz == 10
    assert data.target_names == ("C15", "CCAT", "E21", "ECAT", "GCAT", "M11")
    np.testing.assert_array_equal(data.labels, [0, 5] * 5)
    assert "The paper has 111,740 rows" in data.DESCR


def test_documents_keep_the_order_of_the_languages_they_were_written_in(tmp_path):
    files = {
        name: f"{'C15' if name.endswith(('EN-FR', 'EN-EN')) else 'M11'} 1:1\n"
        for name in reversed(reuters_files())
    }
    reuters_archive(tmp_path, files)
    np.testing.assert_array_equal(load(tmp_path).labels, [0, 5, 5, 5, 5])


def test_other_languages_can_be_asked_for(tmp_path):
    reuters_archive(tmp_path)
    views = load(tmp_path, views=["spanish", "german", "italian"]).views
    assert {name: views[name].shape[1] for name in views.names} == {
        "spanish": 11_547,
        "german": 34_279,
        "italian": 15_506,
    }


@pytest.mark.parametrize("views", [["dutch"], [], ["english", "english"], "english"])
def test_languages_that_are_none_are_refused(views, tmp_path):
    with pytest.raises(ValueError, match="expected some of"):
        load(tmp_path, views=views)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("C16 1:1", "Row 2 of FR/Index_GR-FR .* begins with 'C16'; expected one of C15, CCAT"),
        ("M11 1:1 2", "Row 2 .* is not 'label index:value"),
        ("M11 1:1 2:", "Row 2 .* is not 'label index:value"),
        ("M11 1:x", "Row 2 .* could not convert"),
        ("M11 1.5:1", "Row 2 .* is not 'label index:value"),
        ("M11 1:nan", "Row 2 .* not finite"),
        ("M11 0:1", "Row 2 .* index 0; expected 1 to 24,893"),
        ("M11 24894:1", "Row 2 .* index 24,894; expected 1 to 24,893"),
        ("M11 99999999999999999999:1", "Row 2 .* is not 'label index:value"),
        ("M11 3:1 4:1 3:1", "Row 2 .* an index twice"),
        ("C15 1:1", "Document 2 is M11 in EN/Index_GR-EN, C15 in FR/Index_GR-FR"),
    ],
)
def test_a_line_that_is_wrong_is_named(line, why, tmp_path):
    changed(tmp_path, "FR/Index_GR-FR", f"C15 1:1\n{line}\n")
    with pytest.raises(SourceError, match=why):
        load(tmp_path)


def test_a_file_that_is_short_is_named(tmp_path):
    changed(tmp_path, "FR/Index_GR-FR", "C15 1:1\n")
    with pytest.raises(SourceError, match="EN/Index_GR-EN has 2 documents, FR/Index_GR-FR 1"):
        load(tmp_path)


def test_a_file_without_documents_is_named(tmp_path):
    empty = {ROOT + name: "\n" for name in ("EN/Index_SP-EN", "FR/Index_SP-FR")}
    reuters_archive(tmp_path, {**reuters_files(), **empty})
    with pytest.raises(SourceError, match=r"Index_SP-EN .* has no rows"):
        load(tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    changed(tmp_path, "EN/Index_IT-EN", None)
    with pytest.raises(SourceError, match="has no EN/Index_IT-EN"):
        load(tmp_path)


def test_an_archive_that_is_cut_off_is_told(tmp_path):
    path = reuters_archive(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(SourceError, match="damaged or cut off"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"<html>gone</html>", b"\0" * 2000])
def test_what_is_no_archive_is_told(content, tmp_path):
    path = reuters_archive(tmp_path)
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"rcv1rcv2aminigoutte.tar.bz2 (is damaged|has no)"):
        load(tmp_path)


def test_paths_in_the_archive_are_only_read_from(tmp_path):
    files = {"../" * 5 + name.removeprefix(ROOT): text for name, text in reuters_files().items()}
    write_tar(tmp_path / "reuters" / "rcv1rcv2aminigoutte.tar.bz2", files, "w:bz2")
    before = {path for path in tmp_path.rglob("*") if path.suffix != ".sha256"}
    assert len(load(tmp_path).views) == 10
    assert {path for path in tmp_path.rglob("*") if path.suffix != ".sha256"} == before
