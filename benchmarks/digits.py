"""Scikit-learn's handwritten digits, as views."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from omvfs import Views


def digits_views():
    """Return scikit-learn's digits as views with named features, rows of unit norm, and labels.

    Returns
    -------
    views : Views
        Pixels; profiles, the sums along rows, columns and both diagonals; and the magnitude of the
        2-D Fourier transform.
    labels : array of shape (n,)

    Examples
    --------
    >>> digits_views()[0]
    Views(1797 rows; pixels: 64, profiles: 38, fourier: 40; float64)
    """
    pixels, labels = load_digits(return_X_y=True)
    images = pixels.reshape(-1, 8, 8)
    mirrored = images[:, :, ::-1]
    profiles = {f"row {i}": images[:, i].sum(axis=1) for i in range(8)}
    profiles |= {f"column {j}": images[:, :, j].sum(axis=1) for j in range(8)}
    profiles |= {f"falling {d:+d}": images.trace(d, 1, 2) for d in range(-5, 6)}
    profiles |= {f"rising {d:+d}": mirrored.trace(d, 1, 2) for d in range(-5, 6)}
    blocks = {
        "pixels": pixels,
        "profiles": np.column_stack(list(profiles.values())),
        "fourier": np.abs(np.fft.rfft2(images)).reshape(len(images), -1),
    }
    feature_names = {
        "pixels": [f"pixel r{i}c{j}" for i in range(8) for j in range(8)],
        "profiles": list(profiles),
        "fourier": [f"wave {(i + 4) % 8 - 4} down, {j} across" for i in range(8) for j in range(5)],
    }
    unit = {name: normalize(X) for name, X in blocks.items()}
    return Views(unit, feature_names=feature_names), labels
