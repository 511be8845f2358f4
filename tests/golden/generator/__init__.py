"""Makes and verifies the golden cases. tests/golden/README.md says what a case holds.

    cases.py        the table of committed cases: what each one is made of
    families.py     how to reach layers, mixers and caches in the library's classes
    plans.py        what the hybrid families compute, read from a configuration
    hybrid.py       a plan in torch: the formulas of the hybrids, without the library
    scan.py         the selective scan, token by token
    checkpoint.py   config.json and weights, in and out
    reference.py    a model in float32 or float64, the library's or hybrid.py's, and what its mixers see
    quantities.py   everything in expected.safetensors
    compare.py      error measures, limits, tables
    weights.py      seeded random weights
    making.py       a new case: seeds are tried until no mask is a close call
    recurrence.py   Mamba2 from the formulas, in numpy and float64

Only the functions that compute import torch, so --help and the table of cases need nothing but Python.
"""
