"""What the paper says of concept drift, beside what the rows of the experiment say."""

from collections.abc import Sequence

import numpy as np

from paper.base import Claim, Row
from paper.drifting import DOMINANT, SHARE
from paper.methods import OURS
from paper.rows import ACC, NMI, judged, mean, mean_and_spread, names, paired, those

# Features per view of the selection that does not adapt, and of what it is compared with.
STATIC = 200
FORGETTING = 0.7
FADING = f"OMVFS, forgetting {FORGETTING}"
# A difference of NMI that is clear, and one that is no loss.
CLEAR, SLACK = 0.02, 0.02


def above_static(rows: Sequence[Row], metric: str = NMI) -> Claim:
    """Tell whether OMVFS ends above the selection that does not adapt."""
    seen, holds = [], {}
    for data in names(rows, "data"):
        last = _at(rows, data, -1)
        above = _above(last, "static", metric)
        holds[data] = float(np.mean(above)) >= CLEAR
        later = [x for i in (1, 2, 3) for x in _above(_at(rows, data, i), "static", metric)]
        ours, static = (
            mean_and_spread(_scores(last, kind, metric)) for kind in ("adapting", "static")
        )
        seen.append(
            f"{data}: {ours}, static {static}, difference {_difference(above)}, above in "
            f"{sum(x > 0 for x in above)} of {len(above)} orders (after every change: "
            f"{_difference(later)})"
        )
    why = f"Above: by {CLEAR} or more, on the mean of the orders."
    if failed := [data for data, held in holds.items() if not held]:
        why += f" Not so on {' and '.join(failed)}."
        if metric == ACC:
            why += (
                f" All rows in one cluster would have an ACC of {SHARE / DOMINANT:.2f} and an NMI "
                "of 0: where few classes dominate, ACC is kind to clusters that tell nothing."
            )
    paper = "With drift a static subset of 200 features loses; OMVFS, which adapts, ends above it."
    text = f"{metric} at the end, 200 features. {'; '.join(seen)}."
    return Claim(paper, text, judged(holds), why)


def keeps_up(rows: Sequence[Row]) -> Claim:
    """Tell whether OMVFS is at the end as good as after the first segment."""
    seen, holds = [], {}
    for data in names(rows, "data"):
        first, last = _at(rows, data, 0), _at(rows, data, -1)
        begun, ended = (_scores(end, "adapting") for end in (first, last))
        holds[data] = float(np.mean(ended) - np.mean(begun)) >= -SLACK
        seen.append(
            f"{data}: {mean_and_spread(begun)} after the first segment, "
            f"{mean_and_spread(ended)} after the last, which is "
            f"{_difference(_above(last, 'afresh'))} against one fitted afresh to the last"
        )
    why = f"Every segment is the first of one order and the last of another; a loss: {SLACK}."
    if not all(holds.values()):
        why += " What is known of earlier segments takes places in the selection."
    paper = "The performance of OMVFS does not decrease as more data come in."
    return Claim(paper, f"NMI, 200 features. {'; '.join(seen)}.", judged(holds), why)


def rises(rows: Sequence[Row]) -> Claim:
    """Tell whether the score of all rows so far rises, and more than that of the static subset."""
    seen, holds = [], {}
    for data in names(rows, "data"):
        first, last = (those(_at(rows, data, i, "all"), method=OURS) for i in (0, -1))
        ours, static = (
            paired(those(last, selection=s), those(first, selection=s), NMI, ["order"])
            for s in ("adapting", "static")
        )
        holds[data] = bool(np.mean(ours) > max(0.0, float(np.mean(static))))
        ends = mean_and_spread(_scores(last, "adapting")), mean_and_spread(_scores(last, "static"))
        seen.append(
            f"{data}: {_difference(ours)} to {ends[0]}, static {_difference(static)} to {ends[1]}"
        )
    paper = "It increases even, as new data are combined with what is known."
    why = (
        "All rows so far become easier to cluster as the stream goes on, as more classes have "
        "many rows; but only with features for those classes."
    )
    text = f"NMI of all rows so far, last segment against first. {'; '.join(seen)}."
    return Claim(paper, text, judged(holds), why)


def more_is_better(rows: Sequence[Row]) -> Claim:
    """Tell whether more features give higher scores."""
    mine = those(rows, method=OURS, judged="recent", selection="adapting", end=True)
    sizes = sorted(names(mine, "p"))
    seen, holds = [], {}
    for data in names(mine, "data"):
        scores = [mean(mine, data=data, p=p) for p in sizes]
        holds[data] = scores[-1] > scores[0]
        seen.append(f"{data}: {', '.join(f'{score:.3f}' for score in scores)}")
    paper = "In general, the more features, the better."
    what = f"NMI of {', '.join(map(str, sizes))} features, mean of the segments' ends."
    return Claim(paper, f"{what} {'; '.join(seen)}.", judged(holds))


def new_words(rows: Sequence[Row]) -> Claim:
    """Tell what happens where every class takes other words, with and without forgetting."""
    last = _at(rows, rows[0]["data"], -1)
    end = [row for row in last if row["selection"] == "adapting"]
    seen = []
    for method in names(end, "method"):
        scores = [row[NMI] for row in those(end, method=method)]
        seen.append(f"{method} {mean_and_spread(scores)}")
    seen += [f"{kind} {mean_and_spread(_scores(last, kind))}" for kind in ("static", "afresh")]
    afresh = those(last, selection="afresh")
    loss = {
        method: np.mean(paired(those(end, method=method), afresh, NMI, ["order"]))
        for method in (OURS, FADING)
        if those(end, method=method)
    }
    why = "The new words find places beside the old ones."
    if loss[OURS] < -SLACK:
        why = "Without forgetting, the words of earlier segments keep their places."
        if loss.get(FADING, -1) >= -SLACK:
            why += " A model that forgets keeps up."
    paper = "(Planted data: at a change every class takes other words.)"
    text = f"NMI at the end, 200 features: {', '.join(seen)}."
    return Claim(paper, text, "not in the paper", why)


def _at(rows: Sequence[Row], data: str, segment: int, judged: str = "recent") -> list[Row]:
    """Return the rows of 200 features at the end of a segment."""
    ends = those(rows, data=data, end=True, judged=judged, p=STATIC)
    return those(ends, point=sorted(names(ends, "point"))[segment])


def _scores(rows: Sequence[Row], selection: str, metric: str = NMI) -> list[float]:
    return [row[metric] for row in those(rows, method=OURS, selection=selection)]


def _difference(values: Sequence[float]) -> str:
    return mean_and_spread(values, signed=True)


def _above(rows: Sequence[Row], selection: str, metric: str = NMI) -> list[float]:
    """Return by how much ours is above another selection, order by order."""
    mine = those(rows, method=OURS)
    return paired(
        those(mine, selection="adapting"), those(mine, selection=selection), metric, ["order"]
    )
