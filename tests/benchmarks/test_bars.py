"""A bar is met, missed, or not measured."""

import bars
import race
from made_up import OBJECTIVE, cell


def verdicts(results):
    return {bar.what: bar.verdict for bar in bars.bars(results)}


def test_bars_are_met_missed_or_not_measured(results):
    found = verdicts(results)
    assert found["paper's solver ≥ 30 × ours, full pass, reuters-twin"] == bars.MET
    assert found["paper's solver ≥ 50 × ours, full pass, youtube-twin"] == bars.MISSED
    assert found["objective of ours over the paper's < 1, reuters-twin"] == bars.MET
    assert found["MiniBatchNMF ≥ 1 × ours on all three"] == bars.MET
    assert found["MiniBatchNMF ≥ 3 × ours on two"] == bars.MET
    assert found["FSDS ≥ 3 × ours on all three"] == bars.MET
    assert found["MVUFS ≥ 1,000 × ours at 10⁴ rows of reuters-twin"] == bars.UNKNOWN
    assert found["ours without graph ≤ 2 × MiniBatchKMeans"] == bars.MET
    assert found["omvfs, no graph ≤ 5 × floor"] == bars.MET
    assert found["omvfs ≤ 15 × floor"] == bars.MET
    assert found["time against N: exponent ≤ 1.03"] == bars.MET
    assert found["time against D: exponent ≤ 0.15"] == bars.UNKNOWN
    assert found["time against K: exponent ≤ 1.1"] == bars.MISSED
    assert found["memory flat in N: the most rows over 10⁴ ≤ 1.05"] == bars.MET
    # After the ranking it is 6 times.
    assert found["D = 10⁶, K = 30: memory ≤ 4 × V and B together"] == bars.MISSED
    assert found["import omvfs ≤ 1.2 × import sklearn.base, scipy.sparse"] == bars.MET


def test_without_results_nothing_is_met():
    assert set(verdicts({}).values()) == {bars.UNKNOWN}


def test_a_part_of_the_stream_is_not_a_full_pass(results):
    del results[f"race/reuters-twin/paper{race.WHOLE}"]
    bar = bars.bars(results)[2]
    assert (bar.verdict, bar.seen) == (bars.UNKNOWN, "20 on the first 1,000 rows")


def test_one_miss_is_a_miss_whatever_is_missing(results):
    results["race/reuters-twin/FSDS"] = cell(2.0)
    del results["race/debian_large/FSDS"]
    assert verdicts(results)["FSDS ≥ 3 × ours on all three"] == bars.MISSED
    del results["race/reuters-twin/FSDS"]
    assert verdicts(results)["FSDS ≥ 3 × ours on all three"] == bars.UNKNOWN


def test_a_higher_objective_is_a_miss(results):
    both = {"omvfs": OBJECTIVE, "paper": OBJECTIVE}
    key = f"race/youtube-twin/paper{race.WHOLE}"
    results[key]["objective"]["first chunk, one cluster U"] = both
    what = "objective of ours over the paper's < 1, youtube-twin"
    assert verdicts(results)[what] == bars.MISSED
