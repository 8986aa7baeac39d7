"""The page begins with what the labels of an experiment say and the data do not."""

import numpy as np
import pandas as pd

from enco import ENCO, simulate
from enco.report import render_report
from enco.report.words import cautions
from enco.simulate.experiments import experiment
from enco.theory import check_data


def test_failed_interventions_come_first(tmp_path):
    rng = np.random.default_rng(3)
    model = simulate.categorical("chain", 6, rng, categories=4)
    drawn = experiment(model, 2000, 150, rng, failed=0.34)
    result = ENCO(max_epochs=4, random_state=0, n_jobs=1).fit(drawn.data).result_
    failed = result.interventions.query("verdict == 'no effect'")["target"].tolist()
    assert set(failed) & {done.target for done in drawn.done if not done.hold}
    first = cautions(result)[0]
    assert first == f"{len(failed)} of 6 interventions had no effect: {', '.join(failed)}."
    assert not any("left their target as it was" in sentence for sentence in cautions(result, check_data(drawn.data)))
    page = tmp_path / "page.html"
    result.report(page, data=drawn.data)
    assert first.rstrip(".") in page.read_text(encoding="utf-8")


def test_where_labels_are_believed_the_data_still_say_so():
    """Nothing was tested, so the page must warn of targets that look as they always do."""
    rng = np.random.default_rng(3)
    data = experiment(simulate.categorical("chain", 6, rng, categories=4), 2000, 150, rng, failed=1.0).data
    result = (
        ENCO(max_epochs=2, interventions="perfect", settings={"refine_rounds": 0}, random_state=0).fit(data).result_
    )
    assert any("target as it was" in sentence for sentence in cautions(result, check_data(data)))


def test_tables_of_interventions_and_of_shifts(make_result):
    """Names are text on the page, whatever they hold, and missing numbers are empty cells."""
    table = pd.DataFrame(
        {
            "regime": ["<b>drug</b>", "C", "nothing"],
            "target": ["A", "C", ""],
            "inferred": [True, False, True],
            "rows": [1200, 100, 100],
            "verdict": ["soft", "perfect", "no effect"],
            "share": [0.4, np.nan, np.nan],
            "evidence": [12.34, np.nan, np.nan],
            "p_value": [1e-9, np.nan, np.nan],
            "effect_size": [0.5, 0.7, np.nan],
            "suspects": [[], ["A", "D"], []],
        }
    )
    shifts = pd.DataFrame({"regime": ["C"], "variable": ["<script>"], "p_value": [1e-9], "size": [0.5]})
    names = ["A", "B", "C", "D", "<script>"]
    page = render_report(make_result(names, interventions=table, shifts=shifts))
    assert "<td>&lt;b&gt;drug&lt;/b&gt;</td><td>A (inferred)</td>" in page
    assert '<td class="number">1,200</td><td>soft</td><td class="number">40%</td><td class="number">12.3</td>' in page
    assert "<td>nothing</td><td>none</td>" in page
    assert "<td>A, D</td>" in page
    assert "nan" not in page.split('id="interventions"')[1].split("</section>")[0]
    assert '<td>C</td><td>&lt;script&gt;</td><td class="number">0.50</td><td class="number">1e-09</td>' in page
    without = render_report(make_result(names, interventions=table, shifts=shifts.iloc[:0]))
    assert "Shifts that the graph does not explain" not in without
    assert 'id="interventions"' not in render_report(make_result(names))
