"""Other methods under the same interface: data in, `Result` out.

==================  ====================================================================================
`base`              `Method`, `METHODS`, `register`
`enco_methods`      ENCO, and ENCO with other gradient estimators
`sdi`               SDI, on the networks of this package
==================  ====================================================================================

Examples
--------
>>> from enco.baselines import METHODS
>>> sorted(METHODS)
['enco', 'enco-independent', 'enco-reinforce', 'sdi']
"""

from enco.baselines.base import BOTH_KINDS, METHODS, Method, MethodSettings, find_method, register
from enco.baselines.dcdi import DCDI, DCDIDSF
from enco.baselines.enco_methods import Enco, EncoIndependent, EncoReinforce
from enco.baselines.sdi import SDI

__all__ = ["BOTH_KINDS", "METHODS", "Method", "MethodSettings", "find_method", "register"]

register(Enco())
register(EncoReinforce())
register(EncoIndependent())
register(SDI())
register(DCDI())
register(DCDIDSF())
