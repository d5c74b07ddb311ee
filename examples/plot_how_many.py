"""
How many clusters, and how many features?
=========================================

Neither has to be known. With ``n_clusters="auto"`` rows tell the first, as far as views agree.
The second can be asked when all is learned.
"""

import matplotlib.pyplot as plt

from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from omvfs.plots import plot_agreement, plot_n_clusters

made = make_planted(
    2_000,
    n_features=(600, 200),
    n_informative=(90, 60),
    n_classes=6,
    row_length=(80, 50),
    random_state=0,
)
posts = Views(made.views, feature_names=made.feature_names)
selector = OMVFS(n_clusters="auto", n_features_per_view="auto", random_state=0).fit(posts)
print(selector.n_clusters_, "clusters; there are 6 topics")
print(selector.suggest_n_features(), "features are enough")

# %%
# What was tried, and how far views agree on each.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plot_n_clusters(selector, ax=left)
plot_agreement(selector, ax=right)
plt.show()
