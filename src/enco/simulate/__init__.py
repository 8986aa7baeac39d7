"""Ground-truth models: graphs with mechanisms from which observational and interventional data are drawn.

Start with `categorical`, `continuous`, `mixed`, `from_cpts` or `from_bif`; each returns an `SCM`.
"""

from enco.simulate.bif import BIF_NETWORKS, from_bif, parse_bif
from enco.simulate.builders import categorical, continuous, mixed
from enco.simulate.categorical_mechanisms import NeuralCategorical, ProductCategorical, TableCategorical
from enco.simulate.continuous_mechanisms import AdditiveNetwork, LinearGaussian, NonadditiveNetwork
from enco.simulate.cpts import from_cpts
from enco.simulate.distributions import Categorical, Distribution, Fixed, Normal, Uniform
from enco.simulate.mechanisms import CategoricalMechanism, ContinuousMechanism, Mechanism
from enco.simulate.modified_mechanisms import Shifted, Tilted
from enco.simulate.scm import SCM

__all__ = [
    "BIF_NETWORKS",
    "SCM",
    "AdditiveNetwork",
    "Categorical",
    "CategoricalMechanism",
    "ContinuousMechanism",
    "Distribution",
    "Fixed",
    "LinearGaussian",
    "Mechanism",
    "NeuralCategorical",
    "NonadditiveNetwork",
    "Normal",
    "ProductCategorical",
    "Shifted",
    "TableCategorical",
    "Tilted",
    "Uniform",
    "categorical",
    "continuous",
    "from_bif",
    "from_cpts",
    "mixed",
    "parse_bif",
]
