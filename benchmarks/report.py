"""How long a report takes once features are ranked, how large its page is, and what it looks like.

    PYTHONPATH=tests python benchmarks/report.py
    PYTHONPATH=tests python benchmarks/report.py --data DIR --pictures docs

The second takes the pictures of the pages, with Chromium; `DIR` has the set fox.
"""

import argparse
import time
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.preprocessing import normalize

from devtools import Browser
from digits import digits_views
from omvfs import OMVFS
from omvfs.datasets import load_folder, planted_stream
from reported import wide_model
from tables import tickets


def timed(work):
    """Return what some work comes to, and its seconds of the processor."""
    began = time.process_time()
    return work(), time.process_time() - began


def measure(name, model):
    """Print what a report on a model takes, after its ranking and after its quality."""
    _, ranking = timed(lambda: model.ranking_)
    _, quality = timed(lambda: getattr(model, "selection_quality_", None))
    report, values = timed(model.report)
    page, made = timed(report.html)
    _, draws = timed(lambda: model.stability(2))
    found = ranking, quality, values, made, values + made, draws / 2
    seconds = [f"{each:.2f}" for each in found]
    sizes = [f"{len(text.encode()) / 1e3:.0f}" for text in (page, report.json())]
    print(f"| {name} | {' | '.join([*seconds, *sizes])} |", flush=True)


def fox(data):
    views, _ = load_folder(data / "fox")
    rows = np.random.default_rng(0).permutation(len(views))
    model = OMVFS(4, n_features_per_view=100, prepare="l2", random_state=0)
    return model.fit(views[rows])


def drifting():
    stream = planted_stream(
        20_000,
        n_features=(2_000, 1_000),
        n_informative=(400, 200),
        drift_at=(8_000, 14_000),
        view_names=("words", "tags"),
        random_state=0,
    )
    return OMVFS(5, detect_drift=True, prepare="l2", random_state=0).fit_batches(stream.batches())


def table():
    """Return a model of a table of support tickets, as it is."""
    return OMVFS(3, random_state=0).fit(tickets(5_000)[0])


def digits():
    return OMVFS(10, n_features_per_view=20, random_state=0).fit(digits_views()[0])


def demo():
    """Return a model of the planted stream of the demo."""
    stream = planted_stream(
        50_000,
        n_features=(20_000, 5_000),
        n_informative=(1_000, 500),
        n_classes=10,
        row_length=(100, 50),
        random_state=0,
    )
    model = OMVFS(10, random_state=0)
    for views in stream.batches():
        model.partial_fit(views.replaced({name: normalize(X) for name, X in views.blocks.items()}))
    return model


def take_pictures(models, to):
    browser = Browser()
    shots = {  # what is shown, from where, how high, how bright
        "fox": ("header", 1020, "light"),
        "tickets": ("header", 1180, "light"),
        "drift": ("#stream", 730, "light"),
        "digits": ("#features", 760, "dark"),
    }
    try:
        for name, (place, height, scheme) in shots.items():
            if name not in models:
                continue
            file = to / f"report-{name}.png"
            models[name]().report(name.capitalize()).save(to / "page.html")
            page = browser.page()
            page.resize(1100, height)
            page.prefer(scheme)
            page.open((to / "page.html").resolve())
            top = page.js(f"document.querySelector('{place}').getBoundingClientRect().top")
            clip = {"x": 0, "y": top, "width": 1100, "height": height, "scale": 1}
            page.screenshot(file, whole=True, clip=clip)
            page.close()
            # So many colours are enough, and take half.
            Image.open(file).convert("RGB").quantize(256, kmeans=2).save(file, optimize=True)
            for part in ("page.html", "page.json"):
                (to / part).unlink()
    finally:
        browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args()
    models = {"drift": drifting, "digits": digits, "tickets": table, "demo": demo}
    if given.data:
        models["fox"] = lambda: fox(given.data)
    if given.pictures:
        take_pictures(models, given.pictures)
        return
    heads = (
        "ranking",
        "quality",
        "values",
        "page",
        "values and page",
        "a draw of stability()",
    )
    print(f"| model | {' | '.join(heads)} | page, KB | JSON, KB |")
    print(f"|---|{'---|' * len(heads)}---|---|")
    for name, model in models.items():
        measure(name, model())
    for views, clusters, features in product((2, 16), (5, 200), (100, 100_000)):
        name = f"{views} views, {clusters} clusters, {features:,} features"
        measure(name, wide_model(views, clusters, features))


if __name__ == "__main__":
    main()
