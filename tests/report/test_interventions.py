"""The page begins with what the labels of an experiment say and the data do not."""

import numpy as np

from enco import ENCO, simulate
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
