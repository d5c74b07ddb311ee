"""What is said of a selection, at the end of a run and in a report."""

from typing import Any

from omvfs.results import TooFewRowsError

# What has changed, by the kind of an event.
KINDS = {
    "shares": "other shares of clusters",
    "meaning": "features of other meaning",
    "views": "other views",
}


def verdict(selector: Any) -> str:
    """Tell how good the selection is and how many features would do; nothing if nobody can.

    Nor if views differ in the number of their features that are selected, but for those that have
    no more.

    Parameters
    ----------
    selector : OMVFS
    """
    sizes = [int(mask.sum()) for mask in selector.view_support_.values()]
    in_all = selector.n_features_to_select is not None
    asked = sum(sizes) if in_all else max(sizes)
    alike = [min(asked, width) for width in selector.schema_.widths]
    if sizes != alike and not in_all:
        return ""
    try:
        quality = selector._judged(alone=False)
    except TooFewRowsError:
        return ""
    enough, most = quality.levels_off_at, int(quality.sizes[-1])
    best, there = (f"{100 * quality.at(n):.0f} %" for n in (asked, enough))
    named = f"{asked:,} feature{'s' if asked > 1 else ''}"
    if asked > most:
        named = f"The best {most:,} of {named}"
    of = "in all" if in_all else "a view"
    sentence = f"{named} {of} reproduce{'s' if asked == 1 else ''} {best} of the clusters"
    if enough < min(asked, most):
        return f"{sentence}; {enough:,} would do for {there}."
    return f"{sentence}; {enough:,} would reproduce {there}." if enough > asked else f"{sentence}."
