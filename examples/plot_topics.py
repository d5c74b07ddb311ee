"""
The best words, and what clusters are about
===========================================

Posts on five topics, with words and tags. Words of a topic are called after it; all others are
called noise, and are just as frequent.
"""

import matplotlib.pyplot as plt

from omvfs import OMVFS
from omvfs.datasets import planted_stream
from omvfs.plots import plot_clusters, plot_scores

stream = planted_stream(4_000, view_names=["words", "tags"], random_state=0)
selector = OMVFS(n_clusters=5, n_features_per_view=100, random_state=0)
for chunk in stream.batches():
    selector.partial_fit(chunk)

# %%
# The best words. No noise is among them.

figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
plot_scores(selector, "words", n=15, ax=ax)
plt.show()

# %%
# What each cluster is about.

figure, ax = plt.subplots(figsize=(9, 6), layout="constrained")
plot_clusters(selector, n=5, ax=ax)
plt.show()

# %%
# Among the first hundred words, how many belong to a topic?

best = selector.top_features("words", 100)
print(sum(not word.startswith("noise") for word in best), "of", len(best))
