"""ENCO itself as a method, and its ablations: other estimators of the same gradients."""

from typing import Any, ClassVar

from enco.baselines.base import Method
from enco.data import InterventionalData
from enco.fitting.loop import Discovery
from enco.result import Result
from enco.settings import EstimatorName, Settings

__all__ = ["Enco", "EncoIndependent", "EncoPaper", "EncoReinforce"]


class Enco(Method):
    """ENCO with its defaults; the settings are those of `enco.settings.Settings`.

    Examples
    --------
    >>> Enco().make_settings(sparsity=0.01).sparsity
    0.01
    """

    name = "enco"
    settings_type = Settings
    estimator: ClassVar[EstimatorName] = "paired"

    def make_settings(self, **given: Any) -> Any:
        """Return `Settings` with the estimator of this method."""
        return super().make_settings(**{"estimator": self.estimator, **given})

    def learn(self, data: InterventionalData, settings: Any, *, seed: int, n_jobs: int) -> Result:
        """Run Algorithm 1 and make its graph acyclic."""
        discovery = Discovery(data, settings=settings, seed=seed, n_jobs=n_jobs)
        discovery.run()
        return Result.from_discovery(discovery, data, seconds=0.0, seed=seed)


class EncoPaper(Enco):
    """ENCO as published: Algorithm 1 with the paper's settings and its order step, nothing else (`Settings.paper`).

    `Result.adjacency_raw` is the paper's ENCO, `Result.adjacency` its ENCO-acyclic.
    """

    name = "enco-paper"

    def make_settings(self, **given: Any) -> Any:
        """Return the settings of the paper for up to 99 variables, all of them intervened on."""
        super().make_settings(**given)  # refuses unknown names
        return Settings.paper(**given)

    def settings_for(self, data: InterventionalData, **given: Any) -> Any:
        """Return the settings that the paper has for data of this size, with or without all interventions."""
        self.make_settings(**given)  # refuses unknown names
        return Settings.paper(data.n_variables, partial=data.partial, **given)


class EncoIndependent(Enco):
    """ENCO with the estimator of the paper: K graphs shared by all rows (Eq. 3 and 4)."""

    name = "enco-independent"
    estimator = "independent"


class EncoReinforce(Enco):
    """ENCO with the REINFORCE-like estimator of Bengio et al. (Eq. 5): the paper's ablation of its gradients."""

    name = "enco-reinforce"
    estimator = "reinforce"
