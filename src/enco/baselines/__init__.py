"""Other methods under the same interface: data in, `Result` out.

==================  ====================================================================================
`base`              `Method`, `METHODS`, `register`
`enco_methods`      ENCO, and ENCO with other gradient estimators
==================  ====================================================================================

Examples
--------
>>> from enco.baselines import METHODS
>>> sorted(METHODS)
['enco', 'enco-independent', 'enco-reinforce']
"""

from enco.baselines.base import BOTH_KINDS, METHODS, Method, MethodSettings, find_method, register
from enco.baselines.enco_methods import Enco, EncoIndependent, EncoReinforce

__all__ = ["BOTH_KINDS", "METHODS", "Method", "MethodSettings", "find_method", "register"]

register(Enco())
register(EncoReinforce())
register(EncoIndependent())
