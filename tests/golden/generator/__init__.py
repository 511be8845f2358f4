"""Makes and verifies the golden cases. tests/golden/README.md says what a case holds.

    cases.py        the table of committed cases: what each one is made of
    families.py     how to reach layers, mixers and caches in the library's classes
    checkpoint.py   config.json and weights, in and out
    reference.py    the library's model in float32 or float64, and what its mixers see
    quantities.py   everything in expected.safetensors
    compare.py      error measures, limits, tables
    weights.py      seeded random weights
    making.py       a new case: seeds are tried until no mask is a close call
    recurrence.py   the same numbers from the formulas, in numpy and float64

Only the functions that compute import torch, so --help and the table of cases need nothing but Python.
"""
