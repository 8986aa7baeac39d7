"""The page begins with what the labels of an experiment say and the data do not."""

import numpy as np

from enco import ENCO, simulate
from enco.report.words import cautions
from enco.simulate.experiments import experiment


def test_failed_interventions_come_first(tmp_path):
    rng = np.random.default_rng(3)
    model = simulate.categorical("chain", 6, rng, categories=4)
    drawn = experiment(model, 2000, 150, rng, failed=0.34)
    result = ENCO(max_epochs=4, random_state=0, n_jobs=1).fit(drawn.data).result_
    failed = result.interventions.query("verdict == 'no effect'")["target"].tolist()
    assert set(failed) & {done.target for done in drawn.done if not done.hold}
    first = cautions(result)[0]
    assert first == f"{len(failed)} of 6 interventions had no effect: {', '.join(failed)}."
    page = tmp_path / "page.html"
    result.report(page, data=drawn.data)
    assert first.rstrip(".") in page.read_text(encoding="utf-8")
