"""The paper's numbers here are the paper's."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from pauc_lightning.experiments.paper import (
    TABLES,
    Table,
    published,
    published_result,
    published_time,
    results,
    timings,
)
from pauc_lightning.region import Region

TYPED = [  # read in the LaTeX and typed by hand: table, data, method, max_fpr, min_tpr, mean, std
    (3, "cifar10_lt_1", "ce", 0.3, 0.0, 0.7417, 0.0033),
    (3, "cifar10_lt_1", "upauci", 0.3, 0.0, 0.7764, 0.0063),
    (3, "cifar10_lt_3", "auc_exp", 0.5, 0.0, 0.8416, 0.0109),
    (3, "cifar10_lt_2", "agd_sbcd", 0.5, 0.0, 0.9735, 0.0070),
    (4, "cifar100_lt_1", "auc_m", 0.3, 0.0, 0.8996, 0.0002),
    (4, "cifar100_lt_3", "mb", 0.3, 0.0, 0.8575, 0.0057),
    (4, "cifar100_lt_2", "pauci", 0.5, 0.0, 0.9919, 0.0074),
    (5, "tiny_imagenet_lt_2", "sopa_s", 0.3, 0.0, 0.9087, 0.0079),
    (5, "tiny_imagenet_lt_3", "upauci", 0.5, 0.0, 0.9616, 0.0038),
    (6, "cifar10_lt_1", "sopa", 0.3, 0.7, 0.3531, 0.0049),
    (6, "cifar10_lt_1", "pauci", 0.5, 0.5, 0.7192, 0.0065),
    (6, "cifar10_lt_2", "upauci", 0.3, 0.7, 0.9015, 0.0053),
    (7, "cifar100_lt_3", "upauci", 0.3, 0.7, 0.5465, 0.0035),
    (7, "cifar100_lt_2", "ce", 0.5, 0.5, 0.9603, 0.0031),
    (8, "tiny_imagenet_lt_1", "auc_poly", 0.3, 0.7, 0.4337, 0.0057),
    (8, "tiny_imagenet_lt_3", "auc_m", 0.5, 0.5, 0.8598, 0.0097),
    (9, "inaturalist2021", "agd_sbcd", 0.3, 0.0, 0.9316, 0.0018),
    (9, "inaturalist2021", "upauci", 0.5, 0.0, 0.9741, 0.0061),
    (10, "inaturalist2021", "ce", 0.5, 0.5, 0.9077, 0.0153),
    (10, "inaturalist2021", "mb", 0.3, 0.7, 0.8245, 0.0070),
]


@pytest.mark.parametrize(("table", "data", "method", "max_fpr", "min_tpr", "mean", "std"), TYPED)
def test_numbers_are_those_in_the_paper(
    table: int, data: str, method: str, max_fpr: float, min_tpr: float, mean: float, std: float
) -> None:
    result = published_result(data, method, Region(max_fpr, min_tpr))
    assert result is not None
    assert published(data, method, Region(max_fpr, min_tpr)) == mean
    assert (result.table, result.mean, result.std) == (table, mean, std)


def test_tables_have_the_papers_size_and_metric() -> None:
    assert {table.number: len(table.results) for table in TABLES} == {
        **dict.fromkeys((3, 4, 5), 10 * 3 * 2),
        **dict.fromkeys((6, 7, 8), 9 * 3 * 2),  # AGD-SBCD has no two-way form
        9: 10 * 2,
        10: 9 * 2,
    }
    for table in TABLES:
        metric, family = table.title.split(" on ")
        for result in table.results:
            assert result.region.is_two_way == (metric == "TPAUC")
            assert result.data_set.startswith(family)
            assert result.method != "agd_sbcd" or metric == "OPAUC"
    assert sum(len(table.results) for table in TABLES) == len(results())
    keys = Counter((result.data, result.method, result.region) for result in results())
    assert set(keys.values()) == {1}


def test_values_are_partial_aucs() -> None:
    for result in results():
        assert 0.28 < result.mean < 0.995, result
        assert 0 < result.std < 0.016, result
    # The hardest positives are ranked worse than all positives.
    for result in results():
        one_way = published(result.data, result.method, Region(result.region.max_fpr))
        if result.region.is_two_way:
            assert one_way is not None
            assert result.mean < one_way


def shifts(table: Table) -> dict[str, Counter[int]]:
    """For each data set: the gains from the first column to the second, in 1e-4, with the number of methods."""
    wide = {(r.data, r.method): r.mean for r in table.results if r.region.max_fpr == 0.5}
    result: dict[str, Counter[int]] = {}
    for narrow in table.results:
        if narrow.region.max_fpr == 0.3:
            gain = round(1e4 * (wide[narrow.data, narrow.method] - narrow.mean))
            result.setdefault(narrow.data, Counter())[gain] += 1
    return result


def test_most_second_columns_are_the_first_plus_a_constant() -> None:
    """What docs/paper.md says about the columns of 0.5: no accident of reading, and no result of training."""
    by_number = {table.number: shifts(table) for table in TABLES}
    assert by_number[6]["cifar10_lt_1"][3565] == 8  # seven competitors and PAUCI
    assert by_number[4]["cifar100_lt_1"][167] == 8  # all eight competitors
    commonest = [gains.most_common(1)[0][1] for shift in by_number.values() for gains in shift.values()]
    assert len(commonest) == 20
    assert sum(count >= 7 for count in commonest) == 16


def test_regions_are_found_despite_rounding_and_not_confused() -> None:
    assert published("cifar10_lt_1", "ce", Region(1 - 0.7, 1 - 0.3)) is not None
    assert published("cifar10_lt_1", "ce", Region(0.3, 0.3)) is None  # the paper's alpha is no min_tpr
    assert published("cifar10_lt_1", "ce", Region(0.3, 0.0, 0.1)) is None
    assert published("cifar10_lt_1", "ce", Region(0.1)) is None
    assert published("cifar10_lt_1", "ce_cosine", Region(0.3)) is None
    assert published("digits", "ce", Region(0.3)) is None
    ascent = published("cifar10_lt_1", "upauci_ascent", Region(0.3))
    assert ascent == published("cifar10_lt_1", "upauci", Region(0.3)) is not None


@pytest.mark.parametrize(
    ("method", "region", "size", "milliseconds"),
    [
        ("sopa", Region(0.3), 2048, 86.779),
        ("sopa_s", Region(0.3), 2048, 62.031),
        ("auc_poly", Region(0.3), 2048, 56.637),
        ("auc_exp", Region(0.3), 2048, 55.689),
        ("agd_sbcd", Region(0.3), 2048, 54.954),
        ("mb", Region(0.3), 64, 0.121),
        ("pauci", Region(0.3), 512, 0.043),
        ("ce", Region(0.5, 0.5), 1024, 0.0535),  # four digits in the paper, too
        ("auc_m", Region(0.5, 0.5), 128, 0.027),
        ("mb", Region(0.5, 0.5), 2048, 29.369),
        ("upauci", Region(0.3), 2048, None),
        ("agd_sbcd", Region(0.5, 0.5), 2048, None),
        ("pauci", Region(0.3), 100, None),
    ],
)
def test_times_are_those_in_the_paper(
    method: str, region: Region, size: int, milliseconds: float | None
) -> None:
    timing = published_time(method, region, size, size)
    assert (timing and timing.milliseconds) == milliseconds


def test_tables_of_times_are_complete() -> None:
    assert Counter(timing.table for timing in timings()) == {11: 9 * 6, 12: 8 * 6}
    assert {timing.n_pos for timing in timings()} == {64, 128, 256, 512, 1024, 2048}
    assert all(timing.n_pos == timing.n_neg for timing in timings())
    instance_wise = {timing.method for timing in timings() if timing.estimator == "instance-wise"}
    assert instance_wise == {"pauci", "auc_m", "ce"}
    for slow in timings():  # pairs cost more than instances, in every row and column
        fast = published_time("pauci", slow.region, slow.n_pos, slow.n_neg)
        assert fast is not None
        assert (slow.milliseconds > fast.milliseconds) == (slow.estimator == "pair-wise")


def test_reading_them_needs_no_torch() -> None:
    code = (
        "import sys; from pauc_lightning.experiments.paper import results, timings; results(), timings();"
        "print(*({'torch', 'lightning', 'numpy', 'pandas'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
