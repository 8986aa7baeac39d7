"""ENCO as a method: with its defaults, as published, the paper's ablation of its gradients, and the search alone."""

from typing import Any, ClassVar

from enco.baselines.base import Method
from enco.data import InterventionalData
from enco.discover import conclude
from enco.fitting.loop import Discovery
from enco.result import Result
from enco.settings import EstimatorName, Settings
from enco.stability import stability

__all__ = ["Enco", "EncoIndependent", "EncoPaper", "EncoRefits", "EncoReinforce", "SearchOnly"]


class Enco(Method):
    """ENCO with its defaults; the settings are those of `enco.settings.Settings`.

    Examples
    --------
    >>> Enco().make_settings(sparsity=0.01).sparsity
    0.01
    """

    name = "enco"
    knows_context = True
    settings_type = Settings
    estimator: ClassVar[EstimatorName] = "paired"

    def make_settings(self, **given: Any) -> Any:
        """Return `Settings` with the estimator of this method."""
        return super().make_settings(**{"estimator": self.estimator, **given})

    def learn(self, data: InterventionalData, settings: Any, *, seed: int, n_jobs: int) -> Result:
        """Run Algorithm 1 and make its graph acyclic."""
        discovery = Discovery(data, settings=settings, seed=seed, n_jobs=n_jobs)
        discovery.run()
        return conclude(discovery, data, seconds=0.0, seed=seed)


class EncoPaper(Enco):
    """ENCO as published: Algorithm 1 with the paper's settings and its order step, nothing else (`Settings.paper`).

    `Result.adjacency_raw` is the paper's ENCO, `Result.adjacency` its ENCO-acyclic.
    """

    name = "enco-paper"
    estimator: ClassVar[EstimatorName] = "independent"

    def make_settings(self, **given: Any) -> Any:
        """Return the settings of the paper for up to 99 variables, all of them intervened on."""
        super().make_settings(**given)  # refuses unknown names
        return Settings.paper(**{"estimator": self.estimator, **given})

    def settings_for(self, data: InterventionalData, **given: Any) -> Any:
        """Return the settings that the paper has for data of this size, with or without all interventions."""
        self.make_settings(**given)  # refuses unknown names
        return Settings.paper(data.n_variables, partial=data.partial, **{"estimator": self.estimator, **given})


class EncoIndependent(EncoPaper):
    """`EncoPaper` under the name that it has in the paper's ablation of gradient estimators (Appendix D.3)."""

    name = "enco-independent"


class EncoReinforce(EncoPaper):
    """ENCO as published, but with the REINFORCE-like gradients of Bengio et al. (Eq. 5): the paper's ablation."""

    name = "enco-reinforce"
    estimator = "reinforce"


class EncoRefits(Enco):
    """ENCO and 20 refits (`enco.stability`): how often they find an edge, beside its probability."""

    name = "enco-refits"
    refits: ClassVar[int] = 20

    def learn(self, data: InterventionalData, settings: Any, *, seed: int, n_jobs: int) -> Result:
        """Fit, and refit."""
        discovery = Discovery(data, settings=settings, seed=seed, n_jobs=n_jobs)
        discovery.run()
        result = conclude(discovery, data, seed=seed)
        found = stability(data, self.refits, fit=(discovery, result), settings=settings, seed=seed, n_jobs=n_jobs)
        return found.added_to(result)


class SearchOnly(Enco):
    """A control: the search of the default settings from the empty graph, without Algorithm 1.

    The networks are trained for one epoch; gamma and theta stay where they began.
    """

    name = "search-only"

    def make_settings(self, **given: Any) -> Any:
        """Return `Settings` with one epoch that moves neither gamma nor theta."""
        return super().make_settings(
            **{"max_epochs": 1, "orientation_epochs": 1, "first_orientation_passes": 0, "second_look_epoch": 0, **given}
        )
