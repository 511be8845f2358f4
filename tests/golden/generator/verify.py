"""Verifying a case: everything stored is computed again and compared within the limits."""

import sys
from pathlib import Path

from . import checkpoint, compare, families, quantities, recurrence

MARGIN = 0.003  # no mask may be a closer call than this


def prepare():
    """One thread, so that sums are the same every time. The library need not advise GPU kernels."""
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()


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
        limits = compare.LIMITS[families.find(config["model_type"]).limits]
        for way, found in ways(config, weights, expected, single, formulas):
            bad += [f"{directory}: {column}, {way}" for column in compare.failures(found, limits)]
            if found.get("margin", MARGIN) < MARGIN:
                bad.append(f"{directory}: mask margin, {way}")
            rows.setdefault(way, {})[Path(directory).resolve().name] = found
        print(f"{directory}: done", file=sys.stderr)
    for way, entries in rows.items():
        print(f"{way}, against the stored values:\n\n{compare.table(entries)}\n")
    print("beyond the limits: " + ("; ".join(bad) if bad else "nothing"))
    return 1 if bad else 0


def ways(config, weights, expected, single, formulas):
    """(name, errors by column) of every way to compute a case that was asked for."""
    ids, debug = expected["input_ids"], any(name.startswith("debug.") for name in expected)
    for precise in [False] if single else [False, True]:
        result = quantities.compute(config, weights, ids, precise, debug)
        found = compare.errors(result.tensors, expected)
        name = "library in float64" if precise else "library in float32"
        yield name, {**found, "decode": result.decode, "margin": result.margin}
    if formulas and config["model_type"] == "mamba2":
        tensors = recurrence.compute(config, weights, ids)
        yield "formulas in numpy, float64", compare.errors(
            tensors, {name: expected[name] for name in tensors})
