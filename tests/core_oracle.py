"""The core, written out as slowly and plainly as possible, to compare with.

It shares no code with the library: rows are lists of numbers, everything is summed in loops.
"""

import math

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score


def sums_by_cluster(X, labels, n_clusters):
    """Return S of shape (D, K), Q of D and n of K."""
    n_rows, D = len(X), len(X[0])
    S = [[0.0] * n_clusters for _ in range(D)]
    Q, n = [0.0] * D, [0.0] * n_clusters
    for i in range(n_rows):
        n[labels[i]] += 1
        for j in range(D):
            S[j][labels[i]] += X[i][j]
            Q[j] += X[i][j] ** 2
    return np.array(S), np.array(Q), np.array(n)


def relabeled(S, n, X, before, after, n_clusters):
    """Return S and n in other clusters: rows of the sample move, all others in proportion."""
    D, K = len(S), len(n)
    moved_S, moved_n = np.zeros((D, n_clusters)), np.zeros(n_clusters)
    for k in range(K):
        own = [i for i in range(len(X)) if before[i] == k]
        rest = [S[j][k] - sum(X[i][j] for i in own) for j in range(D)]
        n_rest = max(n[k] - len(own), 0)
        for new in range(n_clusters):
            if own:
                share = sum(after[i] == new for i in own) / len(own)
            else:
                share = float(new == (k if k < n_clusters else 0))
            moved_n[new] += share * n_rest
            for j in range(D):
                moved_S[j][new] += share * rest[j]
        for i in own:
            moved_n[after[i]] += 1
            for j in range(D):
                moved_S[j][after[i]] += X[i][j]
    return moved_S, moved_n


def variances(X, labels):
    """Return the variance of every column between clusters, less that by chance, and in all."""
    between, total = _variances(X, labels)
    return np.maximum(between, 0), total


def _variances(X, labels):
    N, found = len(X), []
    clusters = sorted(set(labels))
    for column in zip(*X, strict=True):
        mean = sum(column) / N
        total = sum((x - mean) ** 2 for x in column) / N
        between = 0.0
        for k in clusters:
            own = [x for x, label in zip(column, labels, strict=True) if label == k]
            between += len(own) / N * (sum(own) / len(own) - mean) ** 2
        chance = total * (len(clusters) - 1) / max(N - 1, 1)
        found.append((between - chance, total))
    return np.array(found).T


def separation(X, clusterings):
    """Return η², mean of clusterings, times the deviation over that of a typical column."""
    between = np.mean([_variances(X, labels)[0] for labels in clusterings], axis=0)
    total = variances(X, clusterings[0])[1]
    varies = [t for t in total if t > 1e-15]
    typical = math.sqrt(sum(varies) / len(varies)) if varies else 1.0
    pairs = zip(between, total, strict=True)
    shares = [(max(b, 0) / t, math.sqrt(t)) if t > 1e-15 else (0.0, 0.0) for b, t in pairs]
    return np.array([share * deviation / typical for share, deviation in shares])


def coverage(X, labels, n_clusters):
    """Return the largest share of the best feature of a cluster, by cluster and column."""
    n_rows, total = len(X), variances(X, labels)[1]
    varies = [t for t in total if t > 1e-15]
    typical = math.sqrt(sum(varies) / len(varies)) if varies else 1.0
    found = np.zeros((len(total), n_clusters))
    for j, column in enumerate(zip(*X, strict=True)):
        for k in range(n_clusters):
            own = [x for x, label in zip(column, labels, strict=True) if label == k]
            rest = [x for x, label in zip(column, labels, strict=True) if label != k]
            if not own or not rest or total[j] <= 1e-15:
                continue
            above = max(sum(own) / len(own) - sum(rest) / len(rest), 0)
            between = len(own) * len(rest) / n_rows**2 * above**2
            share = max(between / total[j] - 1 / (n_rows - 1), 0)
            found[j, k] = share * math.sqrt(total[j]) / typical
    best = found.max(axis=0)
    return (found / np.where(best > 0, best, 1)).max(axis=1)


def repetition(X, score, compared):
    """Return the largest |r| of every column with a better one of those that are compared."""
    order = sorted(range(len(score)), key=lambda j: (-score[j], j))
    found = np.zeros(len(score))
    for place, j in enumerate(order):
        for better in order[: min(place, compared)]:
            found[j] = max(found[j], abs(_r([x[j] for x in X], [x[better] for x in X])))
    return found


def _r(a, b):
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    together = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    alone = sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)
    return together / math.sqrt(alone) if alone > 0 else 0.0


def cosine(x, y):
    """Return the cosine of two rows, 0 if one is empty."""
    lengths = math.sqrt(sum(a * a for a in x) * sum(b * b for b in y))
    return sum(a * b for a, b in zip(x, y, strict=True)) / lengths if lengths else 0.0


def neighbor_graph(X, has, n_neighbors):
    """Return D^-½ W D^-½ of the nearest rows by cosine, all that are equally near, symmetric."""
    n = len(X)
    rows = [i for i in range(n) if has[i]]
    W = np.zeros((n, n))
    for i in rows:
        others = [j for j in rows if j != i]
        farthest = sorted((cosine(X[i], X[j]) for j in others), reverse=True)[:n_neighbors][-1:]
        for j in others:
            if cosine(X[i], X[j]) >= farthest[0] - 1e-5:
                W[i, j] = max(cosine(X[i], X[j]), 0.0)
    W = np.maximum(W, W.T)
    degree = [sum(row) for row in W]
    for i in range(n):
        for j in range(n):
            if W[i, j]:
                W[i, j] /= math.sqrt(degree[i] * degree[j])
    return W


def filtered(embeddings, graphs, has, weights, times):
    """Return the joint embedding, each row half itself and half its neighbours, so many times."""
    n = len(embeddings[0])
    F = []
    for i in range(n):
        parts = zip(weights, embeddings, strict=True)
        F.append(_unit(np.concatenate([math.sqrt(w) * E[i] for w, E in parts])))
    for _ in range(times):
        after = []
        for i in range(n):
            heard = sum(w for w, own in zip(weights, has, strict=True) if own[i])
            around = np.zeros(len(F[0]))
            for w, G in zip(weights, graphs, strict=True):
                for j in range(n):
                    around = around + w * G[i, j] * F[j]
            after.append((F[i] + (around / heard if heard else 0 * around)) / 2)
        F = after
    return np.array([_unit(row) for row in F])


def _unit(row):
    length = math.sqrt(sum(x * x for x in row))
    return row / length if length else row


def holdout_agreement(X, labels, has, n_clusters, n_halves):
    """Return the adjusted mutual information of clusters with those predicted, of one view."""
    n, found, rng = len(X), [], np.random.default_rng(0)
    for _ in range(n_halves):
        order = rng.permutation(n)
        first = [i for i in range(n) if order[i] < n // 2 and has[i]]
        second = [i for i in range(n) if order[i] >= n // 2 and has[i]]
        if not first or not second:
            found.append(0.0)
            continue
        means = [
            sum((_unit(X[i]) for i in first if labels[i] == k), start=np.zeros(len(X[0])))
            for k in range(n_clusters)
        ]
        predicted = [
            max(range(n_clusters), key=lambda k, i=i: X[i] @ _unit(means[k])) for i in second
        ]
        found.append(adjusted_mutual_info_score([labels[i] for i in second], predicted))
    return max(sum(found) / n_halves, 0.0)


def fit_to_clusters(X, sums, weights):
    """Return weighted cosines of every row with the sums of every cluster, over the views."""
    n, K = len(X[0]), sums[0].shape[1]
    return np.array(
        [
            [
                sum(w * cosine(X_v[i], S[:, k]) for X_v, S, w in zip(X, sums, weights, strict=True))
                for k in range(K)
            ]
            for i in range(n)
        ]
    )
