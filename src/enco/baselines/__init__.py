"""Other methods under the same interface: data in, `Result` out.

==================  ====================================================================================
`base`              `Method`, `METHODS`, `register`: start reading here
`enco_methods`      ENCO, ENCO as published with its ablation of gradients, and the search alone
`sdi`               SDI, on the networks of this package
`dcdi`              DCDI; its loop is in `dcdi_training`, its networks in `dcdi_networks` and `dcdi_flows`
`gies`, `igsp`      score-based and permutation search, by the packages `gies` and `causaldag`
`ges`               GES + orienting: `equivalence_search` over classes of `partial_dag`, on the scores of `bic`
`numbers`           data as the matrices that those packages read
==================  ====================================================================================

Nothing optional is imported before a method that needs it runs.

Examples
--------
>>> from enco.baselines import METHODS
>>> list(METHODS)
['enco', 'enco-paper', 'enco-reinforce', 'enco-independent', 'search-only', 'enco-refits', ...]
"""

from enco.baselines.base import BOTH_KINDS, METHODS, Method, MethodSettings, find_method, register
from enco.baselines.dcdi import DCDI, DCDIDSF
from enco.baselines.enco_methods import Enco, EncoIndependent, EncoPaper, EncoRefits, EncoReinforce, SearchOnly
from enco.baselines.ges import GES
from enco.baselines.gies import GIES
from enco.baselines.igsp import IGSP
from enco.baselines.sdi import SDI

__all__ = ["BOTH_KINDS", "METHODS", "Method", "MethodSettings", "find_method", "register"]

register(Enco())
register(EncoPaper())
register(EncoReinforce())
register(EncoIndependent())
register(SearchOnly())
register(EncoRefits())
register(SDI())
register(DCDI())
register(DCDIDSF())
register(GIES())
register(IGSP())
register(GES())
