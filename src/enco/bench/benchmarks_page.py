"""The page of benchmarks, `docs/benchmarks.md`, written from records."""

from collections.abc import Iterator

from enco.bench.records import Store
from enco.bench.spec import Spec, builtin_specs, load_spec
from enco.bench.spec_tables import spec_table

__all__ = ["benchmark_page"]

_SPEC_ORDER = (
    "table1",
    "large-sample",
    "small-sample",
    "interventional-rows",
    "observational-rows",
    "partial",
    "scalability",
    "scalability-few-rows",
    "scalability-continuous",
    "latents",
    "real-world",
    "real-world-small",
    "estimators",
    "deterministic",
    "failed",
    "soft",
    "off-target",
    "unknown-targets",
    "imperfect",
    "batch",
    "continuous",
    "continuous-small",
    "continuous-dense",
    "mixed",
    "non-neural",
    "calibration",
    "gradient-variance",
    "learning-curves",
)

_INTRODUCTION = """# Benchmarks

This page is written by `enco bench docs` from the records in `results/`; do not edit it. Each section is a spec, one
for each table and figure of the paper, and can be run, continued and drawn by commands:

```
enco bench list
enco bench run table1 --graphs 10 --methods enco
enco bench table table1
enco bench plot table1 --out table1.png
```

Problems are simulated from seeds with shuffled columns, and a method never sees the true graph. How to run a part of a
spec, add a method or write a spec of your own: [](bench_howto.md). How fast a fit is: [](speed.md).
"""


def benchmark_page(store: Store) -> str:
    """Write the page.

    Parameters
    ----------
    store : Store
        All records, see `enco.bench.records.open_folder`.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> print(benchmark_page(Store()))
    # Benchmarks
    ...
    ## Common graph structures: `table1`
    ...
    """
    return "\n".join([_INTRODUCTION, *_sections(store)])


def _sections(store: Store) -> Iterator[str]:
    last = len(_SPEC_ORDER)
    for name in sorted(builtin_specs(), key=lambda name: _SPEC_ORDER.index(name) if name in _SPEC_ORDER else last):
        spec = load_spec(name)
        yield f"## {spec.title}: `{name}`\n\n{_sentence(spec)}\n\n{_table(spec, store)}\n"


def _sentence(spec: Spec) -> str:
    return f"{spec.summary[:1].upper()}{spec.summary[1:]}."


def _table(spec: Spec, store: Store) -> str:
    plan = spec.plan(methods=list(spec.methods))
    if not any(store.done(planned.job.key) for planned in plan):
        return f"Not run yet: `enco bench run {spec.name}`."
    return spec_table(spec, plan, store, tell_code=False)
