"""Which features of image-based profiles keep the replicates of a compound together.

    python benchmarks/profiles.py [--draws 5]

Plates are planted: 6 of them, each with a well of 64 compounds, 16 of which do nothing, and 24
controls; 1,500 features of 3 compartments, many nearly the same. Each plate shifts and scales every
feature. Profiles are standardized on the controls of their plate, as all methods get them. How
dense the cells of a well are moves all features: not at all, by a twenty-fifth of what else moves
them, or by a quarter.

Of the features that a method selects: the mean average precision with which a well finds the other
wells of its compound among all wells, by cosine, and in brackets how much more that is than by
thresholds of variance and correlation, draw by draw; that of compounds that do nothing, which is
chance; how many features there are; and the seconds of the process that selecting takes.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import omvfs
from omvfs import OMVFS

PLATES, ACTIVE, INACTIVE, CONTROLS = 6, 48, 16, 24
PARTS = "Cells", "Cytoplasm", "Nuclei"
CHANNELS = "DNA", "ER", "RNA", "AGP", "Mito"
# Groups of features, and how many features of each channel they have; shapes have no channel.
GROUPS = {"Intensity": 20, "Texture": 40, "Granularity": 14, "RadialDistribution": 16}
SHAPES = 50
# Deviations of what the density of cells adds to a quantity, which has one of about 1.
DENSITIES = {"no density": 0.0, "a little": 0.2, "much": 0.5}
# What pycytominer asks by default.
LARGEST_R, LEAST_VARIANCE = 0.9, 1e-6


def names():
    """Return the names of features, and the block of each: part, group and channel."""
    found = []
    for part in PARTS:
        found += [(f"{part}_AreaShape_F{j}", (part, "AreaShape", "")) for j in range(SHAPES)]
        for group, n in GROUPS.items():
            for channel in CHANNELS:
                found += [
                    (f"{part}_{group}_F{j}_{channel}", (part, group, channel)) for j in range(n)
                ]
    return found


def planted(seed, moved):
    """Return standardized profiles, their compounds (-1 is a control), their plates, cell counts.

    What a block of features measures is four quantities, the same in all compartments by half. A
    compound acts on the quantities of some channels, by its mechanism and by itself. Of the
    features of a block two in five are copies of a quantity with a little noise, one is a mixture
    of two, and two are noise, half of it with long tails.
    """
    rng = np.random.default_rng(seed)
    compounds = np.r_[np.arange(ACTIVE + INACTIVE), np.full(CONTROLS, -1)]
    compound = np.tile(compounds, PLATES)
    plate = np.repeat(np.arange(PLATES), len(compounds))
    n = len(compound)
    blocks = dict.fromkeys(block for _, block in names())
    kinds = dict.fromkeys(block[1:] for block in blocks)
    mechanism = rng.integers(12, size=ACTIVE)
    shared = {}
    for kind in kinds:
        # A mechanism acts on one channel in three, and so does what a compound has of its own.
        by_mechanism = 1.2 * rng.normal(size=(12, 4)) * (rng.random((12, 1)) < 1 / 3)
        own = 0.9 * rng.normal(size=(ACTIVE, 4)) * (rng.random((ACTIVE, 1)) < 1 / 3)
        effect = np.zeros((ACTIVE + INACTIVE + 1, 4))
        effect[:ACTIVE] = by_mechanism[mechanism] + own
        shared[kind] = effect[compound] + rng.normal(size=(n, 4))
    density = rng.normal(size=n)
    count = density + 0.3 * rng.normal(size=n)
    columns = {}
    measured = {b: (shared[b[1:]] + rng.normal(size=(n, 4))) / np.sqrt(2) for b in blocks}
    for name, block in names():
        kind, z = rng.random(), measured[block]
        if kind < 0.4:
            x = z[:, rng.integers(4)] + 0.2 * rng.normal(size=n)
        elif kind < 0.6:
            x = z @ (rng.normal(size=4) * rng.permutation([1, 1, 0, 0])) + 0.5 * rng.normal(size=n)
        else:
            x = rng.normal(size=n) if kind < 0.8 else rng.standard_t(3, size=n)
        x = x + rng.normal(0, moved) * density
        x = (x * rng.lognormal(0, 0.2, PLATES)[plate] + rng.normal(size=PLATES)[plate]) * 10
        columns[name] = x
    frame = pd.DataFrame(columns)
    controls = frame[compound < 0].groupby(plate[compound < 0])
    mean, deviation = controls.mean().to_numpy()[plate], controls.std().to_numpy()[plate]
    return (frame - mean) / deviation, compound, plate, count


def average_precision(profiles, compound):
    """Return, for every well but the controls, how early the wells of its compound come.

    Examples
    --------
    >>> average_precision(np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1]]), np.array([0, 0, 1, 1]))
    array([1., 1., 1., 1.])
    """
    Z = profiles / np.linalg.norm(profiles, axis=1, keepdims=True)
    cosines = Z @ Z.T
    np.fill_diagonal(cosines, -np.inf)
    order = np.argsort(-cosines, axis=1)[:, :-1]
    same = (compound[order] == compound[:, np.newaxis])[compound >= 0]
    precision = np.cumsum(same, axis=1) / np.arange(1, same.shape[1] + 1)
    return (precision * same).sum(axis=1) / same.sum(axis=1)


def thresholds(frame, plate=None, count=None):
    """Return what is left by thresholds of variance and correlation, as pycytominer has them.

    Of each two columns that correlate by more than .9, the one that correlates more with all goes.
    """
    varies = frame.columns[frame.var(ddof=0) >= LEAST_VARIANCE]
    R = np.corrcoef(frame[varies].to_numpy(), rowvar=False)
    order = np.argsort(np.abs(R).sum(axis=0))
    above = np.tril(R[np.ix_(order, order)] > LARGEST_R, -1)
    return list(varies[np.sort(order[~above.any(axis=1)])])


def selected(model):
    return [name for view in model.schema_.names for name in best(model, view)]


def best(model, view):
    return model.top_features(view, int(model.view_support_[view].sum()))


def one_pass(views, **params):
    def select(frame, plate, count):
        return selected(OMVFS(views=views, random_state=0, **params).fit(frame))

    return select


def fits(frame, plate):
    """Return a model of each plate."""
    parts = (frame[plate == p] for p in range(PLATES))
    return [OMVFS(views="prefix:_", random_state=0).fit(part) for part in parts]


def merged(frame, plate, count):
    return selected(omvfs.merge(fits(frame, plate)))


def by_half_of_the_plates(frame, plate, count):
    chosen = [set(selected(model)) for model in fits(frame, plate)]
    return [c for c in frame if sum(c in each for each in chosen) >= PLATES / 2]


def after_thresholds(frame, plate, count):
    return compartments(frame[thresholds(frame)], plate, count)


def without_counts(frame, plate, count):
    """Select by what the count of cells does not tell of the features, linearly."""
    centred = count - count.mean()
    told = np.outer(centred, centred @ frame.to_numpy()) / (centred @ centred)
    return compartments(frame - told, plate, count)


def at_random(frame, plate, count):
    return list(np.random.default_rng(0).choice(frame.columns, 300, replace=False))


REFERENCE = "variance and correlation"
compartments = one_pass("prefix:_")
METHODS = {
    "all features": lambda frame, plate, count: list(frame),
    REFERENCE: thresholds,
    "300 at random": at_random,
    "OMVFS, by compartments": compartments,
    "the same, merged of a fit a plate": merged,
    "the same, selected on half of the plates": by_half_of_the_plates,
    "the same, a cluster a compound (`-k 64`)": one_pass("prefix:_", n_clusters=64),
    "the same, without what the count of cells tells": without_counts,
    "the same, of what variance and correlation leave": after_thresholds,
    "the same, as many as are enough (`--total auto`)": one_pass(
        "prefix:_", n_features_to_select="auto"
    ),
    "OMVFS, by compartments and groups, 300 in all": one_pass(
        "prefix:_:2", n_features_to_select=300
    ),
}


def measure(seed, moved):
    """Return precision, that of compounds that do nothing, features and seconds, by method."""
    frame, compound, plate, count = planted(seed, moved)
    acts = compound[compound >= 0] < ACTIVE
    found = {}
    for name, method in METHODS.items():
        started = time.process_time()
        columns = method(frame, plate, count)
        seconds = time.process_time() - started
        precision = average_precision(frame[columns].to_numpy(), compound)
        found[name] = precision[acts].mean(), precision[~acts].mean(), len(columns), seconds
    return found


def table(found):
    """Return the lines of a table: means and standard deviations over the draws of each density."""
    values = {name: np.array([[d[name] for d in draws] for draws in found]) for name in METHODS}
    lines = [
        f"| | {' | '.join(DENSITIES)} | inactive | features | seconds |",
        "|---|" + "---|" * (len(DENSITIES) + 3),
    ]
    for name, own in values.items():
        cells = []
        for precision, other in zip(own[:, :, 0], values[REFERENCE][:, :, 0], strict=True):
            ahead = precision - other
            told = f" ({ahead.mean():+.2f} ± {ahead.std(ddof=1):.2f})"
            cells.append(
                f"{precision.mean():.2f} ± {precision.std(ddof=1):.2f}"
                + (told if name != REFERENCE else "")
            )
        _, inactive, n, seconds = own.reshape(-1, own.shape[2]).T
        cells += [
            f"{inactive.mean():.2f}",
            f"{n.mean():,.0f} ± {n.std(ddof=1):.0f}",
            f"{seconds.mean():.2f} ± {seconds.std(ddof=1):.2f}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=5, help="of at least two plate sets")
    asked = parser.parse_args()
    # A group of features has columns of very different spread; views are taken as they are.
    warnings.simplefilter("ignore", omvfs.SuspectColumnWarning)
    with threadpool_limits(1):
        found = [
            [measure(seed, moved) for seed in range(asked.draws)] for moved in DENSITIES.values()
        ]
    print(*table(found), sep="\n")


if __name__ == "__main__":
    main()
