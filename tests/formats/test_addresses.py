"""What is shown of an address has no secrets in it, and is otherwise as it was typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omvfs.formats.files import without_secrets
from omvfs.formats.opening import read_input


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("https://me:word@example.org/rows.csv?sig=abc#top", "https://example.org/rows.csv"),
        ("https://me@example.org:8080/rows.csv", "https://example.org:8080/rows.csv"),
        ("https://example.org/a@b.csv", "https://example.org/a@b.csv"),
        ("text=https://me:word@example.org/x.csv", "text=https://example.org/x.csv"),
        ("zip://x.csv::https://me:word@host/a.zip?sig=abc", "zip://x.csv::https://host/a.zip"),
        # Not as an address should be, yet typed.
        ("https://me:wo/rd@host/x.csv", "https://..."),
        ("https://me:wo?rd@host/x.csv", "https://..."),
        ("https://me:w@rd@host/x.csv", "https://host/x.csv"),
        ("s3://arn:aws:s3:here:1:point/x.csv", "s3://arn:aws:s3:here:1:point/x.csv"),
        ("rows.csv", "rows.csv"),
        ("odd?name#me@home.csv", "odd?name#me@home.csv"),
        ("-", "-"),
    ],
)
def test_user_password_query_and_fragment_are_left_out(typed, shown):
    assert without_secrets(typed) == shown
    assert without_secrets(shown) == shown


SECRET = "XsecretX"


@given(
    scheme=st.sampled_from(["http", "https", "s3", "text=https", "zip://x.csv::ftp"]),
    user=st.text("ab@:/?#%=& ", max_size=6),
    password=st.text("ab@:/?#%=& ", max_size=6),
    query=st.text("ab@:/?#%=& ", max_size=6),
)
def test_no_secret_is_shown_wherever_it_stands(scheme, user, password, query):
    user = user.replace(":", "").replace("/", "")
    typed = f"{scheme}://{user}:{SECRET}{password}@host/rows.csv?{query}{SECRET}"
    assert SECRET not in without_secrets(typed)


def test_files_are_called_without_secrets():
    typed = ["https://me:word@example.org/rows.csv?sig=abc", "https://me:pass.word@host"]
    files = {given.name: given.files[0] for given in map(read_input, typed)}
    assert [str(file) for file in files.values()] == [
        "https://example.org/rows.csv",
        "https://host",
    ]
    assert all("word" not in name + file.name + file.kind for name, file in files.items())
    assert [file.text for file in files.values()] == typed
