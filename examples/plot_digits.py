"""
Which pixels tell digits apart?
===============================

Images of handwritten digits, in three views: their pixels, sums along lines, and waves. Nobody has
told which digit an image shows. At most twenty features of each view are selected.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from omvfs import OMVFS, Views
from omvfs.plots import plot_agreement

pixels, digits = load_digits(return_X_y=True)
images = pixels.reshape(-1, 8, 8)
views = Views(
    {
        "pixels": pixels,
        "sums": np.hstack([images.sum(axis=1), images.sum(axis=2)]),
        "waves": np.abs(np.fft.rfft2(images)).reshape(len(images), -1),
    }
)
print(views)

# %%
# Learn, in one pass.

selector = OMVFS(n_clusters=10, n_features_per_view=20, random_state=0).fit(views)

# %%
# Left, the selected pixels over the mean image: where strokes of one digit are, and those of others
# are not. The border is never chosen, and of neighbours that say the same only one. Right, how much
# of the clusters the best features alone foretell. It flattens: twenty a view are enough.

chosen = selector.view_support_["pixels"].reshape(8, 8)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.imshow(views["pixels"].mean(axis=0).reshape(8, 8), cmap="Greys")
rows, columns = np.nonzero(chosen)
left.scatter(columns, rows, s=220, marker="s", facecolors="none", edgecolors="red", linewidths=2)
left.set(title="20 of 64 pixels", xticks=[], yticks=[])
plot_agreement(selector, ax=right)
plt.show()

# %%
# The clusters it found while it read, held against the digits:

found = selector.predict(views)
for k in range(10):
    shares = np.bincount(digits[found == k], minlength=10) / max(1, (found == k).sum())
    print(f"cluster {k}: {shares.max():4.0%} of its images are {shares.argmax()}")
