"""
A stream that changes
=====================

After 6,000 rows every topic takes other words. The change is noticed, and the ranking follows.
"""

import matplotlib.pyplot as plt

from omvfs import OMVFS
from omvfs.datasets import planted_stream
from omvfs.plots import plot_ranks, plot_stream

stream = planted_stream(
    12_000,
    batch_size=200,
    n_features=(1_000, 300),
    n_informative=(100, 60),
    row_length=(50, 30),
    drift_at=[6_000],
    view_names=["words", "tags"],
    random_state=0,
)
selector = OMVFS(n_clusters=5, half_life=3_000, detect_drift=True, random_state=0)
for chunk in stream.batches():
    selector.partial_fit(chunk)
for event in selector.drift_:
    print(f"{event.kind} changed at about row {event.since:,}, noticed at {event.row:,}")

# %%
# The objective along the stream, and the change that was noticed.

figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
plot_stream(selector, ax=ax)
plt.show()

# %%
# Ranks of the best words on the way. Words are called by what they are after the change.

figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
plot_ranks(selector, "words", n=8, ax=ax)
plt.show()
