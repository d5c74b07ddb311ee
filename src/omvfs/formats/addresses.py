"""What may be shown and kept of an address: not who asks, nor by what right."""

import re


def without_secrets(address: str) -> str:
    """Return an address without user, password, query and fragment; a path as it is.

    Parameters
    ----------
    address : str
        As typed: a path, an address, also of the form ``view=address`` or of several by ``::``.

    Examples
    --------
    >>> without_secrets("text=https://me:word@example.org/rows.csv?signature=abc")
    'text=https://example.org/rows.csv'
    >>> without_secrets("odd?name.csv")
    'odd?name.csv'
    """
    inner, chained, rest = address.partition("::")
    if chained and "://" in inner and "://" in rest:
        return f"{without_secrets(inner)}::{without_secrets(rest)}"
    scheme, sign, place = address.partition("://")
    if not sign:
        return address
    authority = re.split("[/?#]", place, maxsplit=1)[0]
    host = authority.rpartition("@")[2]
    place = host + place[len(authority) :]
    if "@" in place and not re.fullmatch(r"(\[.*\]|[^:]*)(:\d*)?", host):
        place = "..."  # what should have been escaped is not told apart
    return scheme + sign + re.split("[?#]", place, maxsplit=1)[0]
