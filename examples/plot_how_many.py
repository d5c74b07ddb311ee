"""
How many clusters, and how many features?
=========================================

Neither has to be known. With ``n_clusters="auto"`` there are as many clusters as each view
foretells well. The second can be asked when all is learned.
"""

import matplotlib.pyplot as plt

from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from omvfs.plots import plot_agreement

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
# How well the best features alone foretell the clusters, by their number.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
plot_agreement(selector, ax=ax)
plt.show()
