import pytest

from enco.bench.robustness import AS_IT_IS, Report, Variation, changed, measure_robustness, robustness_table, variations
from enco.bench.robustness_cases import Case, cases
from enco.errors import EncoError

SHORT = (
    "categorical chain 5, 500 + 50",
    "categorical full 8, 1000 + 50",
    "categorical bidiag 10, 5000 + 200",
    "additive 10 seed 322, 1 edges each, 909 + 909",
    "linear 5 seed 323, 1.5 edges each, 200 + 50",
    "mixed additive 8, 1 edges each, 2000 + 200",
    "functions random 8, 2000 + 100",
    "cancelling paths, 2000 + 200",
    "nonadditive 10, 5 targets",
)


def some(names: tuple[str, ...]) -> list[Case]:
    return [case for case in cases() if case.name in names]


def test_the_problems_are_many_and_of_every_kind():
    data = [case.problem.draw()[0] for case in cases()]
    assert len(data) >= 40
    assert all(3 <= each.n_variables <= 15 for each in data)
    assert {frozenset(each.kinds) for each in data} == {
        frozenset({"categorical"}),
        frozenset({"continuous"}),
        frozenset({"categorical", "continuous"}),
    }
    assert any(len(each.interventional) < each.n_variables for each in data)


def test_rounding_reaches_no_further_than_today():
    """The short form of `make robust`. Bounds are what was measured, with room for processors that were not."""
    wanted = ("as it is", "columns", "values", "OPENBLAS_CORETYPE=Prescott", "OPENBLAS_CORETYPE=Nehalem")
    chosen = [variation for variation in variations() if variation.name.startswith(wanted)]
    report = measure_robustness(some(SHORT), chosen, n_jobs=2)
    assert len(report.edges[AS_IT_IS]) == len(SHORT)
    differing = {variation.name: report.differing(variation.name) for variation in chosen}
    assert differing.pop("columns in another order") == {}
    for name, counts in differing.items():
        assert len(counts) <= 2, (name, counts)
        assert sum(counts.values()) <= 4, (name, counts)


def test_variations_change_what_they_say():
    data = some(("mixed additive 8, 1 edges each, 2000 + 200",))[0].problem.draw()[0]
    rows, columns, values = (changed(data, change) for change in ("rows", "columns", "values"))
    assert rows != data
    assert sorted(rows.column("X1").tolist()) == sorted(data.column("X1").tolist())
    assert columns.names == tuple(reversed(data.names))
    assert columns.select(data.names) == data
    assert values != data
    largest = abs(values.observational.reals / data.observational.reals - 1).max()
    assert 0 < largest < 1e-6
    assert (values.observational.codes == data.observational.codes).all()


def test_a_report_counts_edges_and_compares_seeds():
    a, b, c = ("A", "B"), ("B", "C"), ("C", "A")
    report = Report(
        {
            AS_IT_IS: {"one": frozenset({a, b}), "two": frozenset()},
            "rows": {"one": frozenset({a, c}), "two": frozenset()},
            "seed 1": {"one": frozenset({a}), "two": frozenset()},
            "seed 2": {"one": frozenset({a, b}), "two": frozenset()},
        }
    )
    assert report.differing("rows") == {"one": 2}
    assert report.agreement_of_seeds() == {"one": pytest.approx((0.5 + 1 + 0.5) / 3), "two": 1.0}
    assert "| rows | 2 | 1 | 2 |" in robustness_table(report)


def test_a_process_that_fails_is_an_error():
    broken = Variation("broken", change="columns", seed=-1)
    with pytest.raises(EncoError, match="'broken' ended with code 1"):
        measure_robustness(some(("cancelling paths, 2000 + 200",)), [broken])
