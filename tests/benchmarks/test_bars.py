"""A bar is met, missed, or not measured."""

from made_up import OBJECTIVE, cell

import bars
import density
import race
from verdicts import MET, MISSED, UNKNOWN, Bar, judged


def verdicts(results):
    return {bar.what: bar.verdict for bar in bars.bars(results)}


def test_bars_are_met_missed_or_not_measured(results):
    found = verdicts(results)
    assert found["paper's solver ≥ 30 × ours, full pass, reuters-twin"] == MET
    assert found["paper's solver ≥ 50 × ours, full pass, youtube-twin"] == MISSED
    assert found["objective of ours over the paper's < 1, reuters-twin"] == MET
    assert found["MiniBatchNMF ≥ 1 × ours on all three"] == MET
    assert found["MiniBatchNMF ≥ 3 × ours on two"] == MET
    assert found["FSDS ≥ 3 × ours on all three"] == MET
    assert found["MVUFS ≥ 1,000 × ours at 10⁴ rows of reuters-twin"] == UNKNOWN
    assert found["ours without graph ≤ 2 × MiniBatchKMeans"] == MET
    assert found["omvfs, no graph ≤ 5 × floor"] == MET
    assert found["omvfs ≤ 15 × floor"] == MET
    assert found["time against N: exponent ≤ 1.03"] == MET
    assert found["time against D: exponent ≤ 0.15"] == UNKNOWN
    assert found["time against K: exponent ≤ 1.1"] == MISSED
    assert found["memory flat in N: the most rows over 10⁴ ≤ 1.05"] == MET
    # After the ranking it is 6 times.
    assert found["D = 10⁶, K = 30: memory ≤ 4 × V and B together"] == MISSED
    assert found["import omvfs ≤ 1.2 × import sklearn.base, scipy.sparse"] == MET


def test_without_results_nothing_is_met():
    assert set(verdicts({}).values()) == {UNKNOWN}


def test_a_part_of_the_stream_is_not_a_full_pass(results):
    del results[f"race/reuters-twin/paper{race.WHOLE}"]
    bar = bars.bars(results)[2]
    assert (bar.verdict, bar.seen) == (UNKNOWN, "20 on the first 1,000 rows")


def test_one_miss_is_a_miss_whatever_is_missing(results):
    results["race/reuters-twin/FSDS"] = cell(2.0)
    del results["race/debian_large/FSDS"]
    assert verdicts(results)["FSDS ≥ 3 × ours on all three"] == MISSED
    del results["race/reuters-twin/FSDS"]
    assert verdicts(results)["FSDS ≥ 3 × ours on all three"] == UNKNOWN


def test_a_higher_objective_is_a_miss(results):
    both = {"omvfs": OBJECTIVE, "paper": OBJECTIVE}
    key = f"race/youtube-twin/paper{race.WHOLE}"
    results[key]["objective"]["first chunk, one cluster U"] = both
    what = "objective of ours over the paper's < 1, youtube-twin"
    assert verdicts(results)[what] == MISSED


def test_bars_on_what_is_asked_are_judged_by_their_medians(results):
    found = {bar.what: bar for bar in bars.bars(results)}
    for work in density.WORKS:
        assert found[f"a CSR view ≤ 1.3 × the same array: {work}"].verdict == MET
    assert found["13 % full: pass and ranking ≤ 3 × FSDS"].verdict == MET
    assert found["MiniBatchNMF ≥ 3 × our pass and ranking"].verdict == MET
    assert found["MiniBatchNMF ≥ 3 × our pass and ranking"].wall.startswith("youtube-twin 4; ")
    # A twin stood in, which is told.
    assert "debian_large (a twin of it) 9" in found["omvfs ≤ 10 × the floor"].seen
    asking = "asking for a ranking ≤ 0.5 × a pass, 50,000 rows of debian_large"
    assert found[asking].verdict == MISSED
    assert found["asked again ≤ 0.1 × the pass"].verdict == MET
    assert found["predict of 100,000 rows ≤ 1.5 × a pass over them"].verdict == MET
    assert found["omvfs select on 2,000 rows ≤ 2.5 s from start to end"].verdict == MET
    assert found["memory of a pass: 1,000,000 over 10,000 rows ≤ 1.05"].verdict == MET


def test_quality_may_fall_by_its_spread_and_no_more(results):
    what = "NMI after less NMI before, by set; no less than the spread of before"
    assert verdicts(results)[what] == MET
    results["asked/quality"]["sets"]["fox"]["after"] = [0.68, 0.70]
    assert verdicts(results)[what] == MISSED


def test_of_several_runs_the_median_is_judged_and_the_spread_told():
    bar = judged("bar", {"a": [1.0, 5.0, 2.0], "b": 1.5}, most=2, wall={"a": [3.0, 4.0, 5.0]})
    assert bar == Bar("bar", "a 2; b 1.5", MET, "a 1 to 5", "a 4")
    assert judged("bar", {"a": [1.0, 5.0, 2.1]}, most=2).verdict == MISSED
