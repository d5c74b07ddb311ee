"""Tables as users have them, of which the columns and words that matter are known."""

import numpy as np
import pandas as pd

WORDS = (
    ("refund", "invoice", "charge", "card"),
    ("crash", "error", "screen", "freeze"),
    ("password", "login", "account", "locked"),
)
# What tells the three groups of tickets apart, by view.
PLANTED = {
    "numbers": {"amount", "minutes"},
    "categories": {"plan=free", "plan=pro", "plan=team"},
    "message": {word for own in WORDS for word in own},
}


def tickets(n=600, seed=0, gaps=0.1):
    """Return a table of support tickets in three groups, with gaps, and the group of each row."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    others = [f"thing{i}" for i in range(300)]
    messages = [
        " ".join(rng.permutation([*rng.choice(WORDS[k], 3), *rng.choice(others, 6)])) for k in group
    ]
    mostly = np.where(rng.random(n) < 0.15, rng.integers(3, size=n), group)
    frame = pd.DataFrame(
        {
            "ticket_id": [f"T-{i:06d}" for i in range(n)],
            "customer_id": rng.integers(10_000, 99_999, n),
            "opened": pd.date_range("2026-01-01", periods=n, freq="h"),
            "plan": np.array(["free", "pro", "team"])[mostly],
            "country": rng.choice(["DE", "FR", "US", "JP"], n),
            "is_new": rng.random(n) < 0.5,
            "amount": np.where(group == 0, 500.0, 20.0) + rng.normal(0, 60, n),
            "minutes": np.where(group == 1, 3e4, 1e3) + rng.normal(0, 4e3, n),
            "noise_a": rng.normal(1e6, 1e4, n),
            "noise_b": rng.random(n),
            "message": messages,
            "source": "web",
        }
    )
    for name in ("plan", "amount", "minutes", "message"):
        frame.loc[rng.random(n) < gaps, name] = None
    return frame, group


def found(model):
    """Return the share of what was planted among as many of the best features, by view."""
    return {
        view: len(own & set(model.top_features(view, len(own)))) / len(own)
        for view, own in PLANTED.items()
    }
