"""
A stream that changes
=====================

After 6,000 rows every topic takes other words. The change is noticed, but the ranking follows only
if it is told to forget: a stream whose groups change needs ``half_life``.
"""

import matplotlib.pyplot as plt
import numpy as np

from omvfs import OMVFS
from omvfs.datasets import planted_stream

stream = planted_stream(
    12_000,
    batch_size=500,
    n_features=(1_000, 300),
    n_informative=(100, 60),
    row_length=(50, 30),
    drift_at=[6_000],
    view_names=["words", "tags"],
    random_state=0,
)
ways = {
    "all rows": OMVFS(5, n_features_per_view=50, detect_drift=True, random_state=0),
    "half_life=6000": OMVFS(5, n_features_per_view=50, half_life=6_000, random_state=0),
    "half_life=2000": OMVFS(5, n_features_per_view=50, half_life=2_000, random_state=0),
}
for chunk in stream.batches():
    for selector in ways.values():
        selector.partial_fit(chunk)
for change in ways["all rows"].drift_:
    print(f"{change.kind} changed at about row {change.since:,}, noticed at {change.row:,}")

# %%
# How well rows fit their clusters along the stream, and the change that was noticed.

figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
seen = ways["all rows"]
rows = np.cumsum([chunk.n_rows for chunk in seen.history_])
ax.plot(rows, [chunk.fit for chunk in seen.history_])
for change in seen.drift_:
    ax.axvline(change.row, color="0.4", linestyle="--", label=f"noticed at {change.row:,}")
ax.set(xlabel="rows", ylabel="fit to the clusters")
ax.legend()
plt.show()

# %%
# Of 50 selected words, how many belong to the topics as they are at the end? By default all rows
# count alike; with a half-life what is old is forgotten.

now = stream.informative["words"]
shares = {name: now[each.view_support_["words"]].mean() for name, each in ways.items()}
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
bars = ax.barh(list(shares), list(shares.values()))
ax.bar_label(bars, fmt="{:.0%}", padding=3)
ax.set(xlim=(0, 1.1), xlabel="share of the selected words that matter now")
ax.invert_yaxis()
plt.show()
