import numpy as np
import pytest

from enco.simulate import from_cpts


def make_random_model(seed, n, *, levels=(2, 3), density=0.6):
    """A random graph with Dirichlet tables; names are shuffled against the causal order."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice(levels, size=n)
    order = rng.permutation(n)
    cpts = {}
    for place, position in enumerate(order):
        parents = [int(p) for p in order[:place] if rng.random() < density]
        table = rng.dirichlet(np.ones(sizes[position]), size=[sizes[p] for p in parents] or None)
        cpts[f"V{position}"] = ([f"V{p}" for p in parents], table)
    return from_cpts({f"V{position}": cpts[f"V{position}"] for position in range(n)})


@pytest.fixture
def random_model():
    return make_random_model
