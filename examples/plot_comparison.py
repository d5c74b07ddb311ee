"""
Beside other methods
====================

Rows are clustered by the selected features alone, and clusters are held against the topics, which
no method has seen. Informative and other words are equally frequent here, so that counting them
finds the informative ones late.
"""

from collections import defaultdict

import matplotlib.pyplot as plt

from omvfs import OMVFS
from omvfs.baselines import FSDS, ColumnSum, RandomScore, Variance
from omvfs.datasets import make_planted
from omvfs.evaluation import evaluate_selection, summarise

data = make_planted(1_000, n_features=(1_500, 500), n_informative=(150, 80), random_state=0)
methods = {
    "OMVFS": OMVFS(5, random_state=0),
    "FSDS": FSDS(5),
    "variance": Variance(),
    "column sum": ColumnSum(),
    "chance": RandomScore(random_state=0),
}
fitted = {name: method.fit(data.views) for name, method in methods.items()}
sizes = [10, 20, 50, 100, 200]
rows = evaluate_selection(data.views, data.labels, fitted, n_features=sizes, seeds=3)

# %%
# The higher, the better; 1 is all topics told apart.

curves = defaultdict(list)
for row in summarise(rows):
    curves[row["method"]].append((row["p"], row["NMI max"]))
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for name, points in curves.items():
    ax.plot(*zip(*points, strict=True), marker="o", label=name)
ax.set(xlabel="features a view", ylabel="NMI with the topics", xscale="log", xticks=sizes)
ax.set_xticks(sizes, [str(size) for size in sizes])
ax.legend()
plt.show()
