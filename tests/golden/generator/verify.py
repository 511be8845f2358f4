"""Verifying a case: everything stored is computed again and compared within the limits."""

import sys
from pathlib import Path

from . import checkpoint, compare, families, quantities
from .reference import FORMULAS

MARGIN = 0.003  # no mask may be a closer call than this
GAP = 0.001  # and no choice of experts, in the scores that are compared


def prepare():
    """One thread, so that sums are the same every time. The library need not advise GPU kernels."""
    import torch

    torch.set_num_threads(1)
    try:
        import transformers
    except ImportError:  # the formulas need none
        return
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def read_case(directory):
    """(configuration, weights, expected)"""
    from safetensors.torch import load_file

    expected = load_file(Path(directory) / "expected.safetensors")
    return checkpoint.read_config(directory), checkpoint.read_weights(directory), expected


def verify(directories, single=False, formulas=False):
    """0 when everything stored is reproduced. Prints a table per way to compute it."""
    prepare()
    rows, bad = {}, []
    for directory in directories:
        config, weights, expected = read_case(directory)
        family = families.find(config["model_type"])
        limits, outcome = compare.LIMITS[family.limits], f"left out, needs transformers {family.library}"
        for way, found in ways(config, weights, expected, single, formulas):
            outcome = "done"
            bad += [f"{directory}: {column}, {way}" for column in compare.failures(found, limits)]
            bad += [f"{directory}: {close}, {way}" for close, least in (("margin", MARGIN), ("gap", GAP))
                    if found.get(close, least) < least]
            rows.setdefault(way, {})[Path(directory).resolve().name] = found
        print(f"{directory}: {outcome}", file=sys.stderr)
    for way, entries in rows.items():
        print(f"{way}, against the stored values:\n\n{compare.table(entries)}\n")
    print("beyond the limits: " + ("; ".join(bad) if bad else "nothing"))
    return 1 if bad else 0


def ways(config, weights, expected, single, formulas):
    """(name, errors by column) of every way to compute a case that was asked for and is installed. Without
    the library, a hybrid is computed from the formulas."""
    ids, debug = expected["input_ids"], any(name.startswith("debug.") for name in expected)
    family = families.find(config["model_type"])
    for precise in [False] if single else [False, True]:
        if family.installed():
            result = quantities.compute(config, weights, ids, precise, debug)
            yield ("library in float64" if precise else "library in float32"), columns(result, expected)
    if family.plan and (formulas or not family.installed()):
        result = quantities.compute(config, weights, ids, True, debug, FORMULAS)
        yield "formulas in torch, float64", columns(result, expected)
    elif formulas and config["model_type"] == "mamba2":
        from . import recurrence

        tensors = recurrence.compute(config, weights, ids)
        yield "formulas in numpy, float64", compare.errors(
            tensors, {name: expected[name] for name in tensors})


def columns(result, expected):
    found = compare.errors(result.tensors, expected)
    if result.decode is not None:
        found["decode"] = result.decode
    found["margin"] = result.margin
    if result.gap < float("inf"):
        found["gap"] = result.gap
    return found
