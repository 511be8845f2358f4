"""How far results lie from the stored ones: error measures, limits and tables."""

import re
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Limits:
    logits: float  # absolute
    hidden: float  # of the largest magnitude in the tensor; SSM states and debug.* too
    scores: float  # entrywise relative
    gradient: float  # of the largest magnitude in the tensor
    loss: float = 1e-5  # absolute

    def scaled(self, factor):
        return Limits(*(factor * getattr(self, entry.name) for entry in fields(self)))


# About ten times what the float32 run of the library differs from its float64 twin.
LIMITS = {
    "mamba2": Limits(logits=1e-4, hidden=1e-5, scores=2e-5, gradient=2e-5),
    "zamba2": Limits(logits=5e-4, hidden=5e-5, scores=1e-4, gradient=2e-4),
    "hybrid": Limits(logits=2e-4, hidden=5e-5, scores=5e-5, gradient=1e-4),
}


def absolute(actual, expected):
    return (actual.double() - expected.double()).abs().max().item()


def of_largest(actual, expected):
    return absolute(actual, expected) / max(expected.double().abs().max().item(), 1e-300)


def entrywise(actual, expected):
    """Zeros must be zeros: anything else there is an infinite error."""
    actual, expected = actual.double(), expected.double()
    if bool(((actual == 0) != (expected == 0)).any()):
        return float("inf")
    live = expected != 0
    return ((actual - expected).abs()[live] / expected.abs()[live]).max().item() if bool(live.any()) else 0.0


def differing(actual, expected):
    return float((actual != expected).sum().item())


# column, which tensors, measure, which limit (masks: no difference at all)
COLUMNS = [
    ("logits", r"logits|floored\.logits", absolute, "logits"),
    ("hidden", r"hidden\..*", of_largest, "hidden"),
    ("state", r"ssm_state\..*", of_largest, "hidden"),
    ("S", r"ghost\.S\..*", entrywise, "scores"),
    ("P", r"ghost\.P\..*", entrywise, "scores"),
    ("Q", r"ghost\.Q\..*", entrywise, "scores"),
    ("seq. S", r"ghost\.seq\.S\..*", entrywise, "scores"),
    ("pruned logits", r"ghost\.logits", absolute, "logits"),
    ("loss", r"taylor\.loss", absolute, "loss"),
    ("gradients", r"taylor\.grad\..*", of_largest, "gradient"),
    ("grouped logits", r"grouped\.logits", absolute, "logits"),
    ("grouped S", r"grouped\.S\..*", entrywise, "scores"),
    ("debug", r"debug\..*", of_largest, "hidden"),
    ("masks", r"ghost\.(k\d+\.)?mask\..*", differing, None),
]


def errors(actual, expected):
    """column -> largest error of its tensors; columns without a tensor are left out. `actual` must have every
    tensor of `expected` but the tokens, in the same shape."""
    names = set(expected) - {"input_ids"}
    missing = sorted(names - set(actual))
    wrong = sorted(n for n in names & set(actual) if actual[n].shape != expected[n].shape)
    if missing or wrong:
        raise ValueError(f"not computed: {missing}; other shapes: {wrong}")
    out = {}
    for column, pattern, measure, _ in COLUMNS:
        found = [name for name in names if re.fullmatch(pattern, name)]
        names -= set(found)
        if found:
            out[column] = max(measure(actual[name], expected[name]) for name in found)
    if names:
        raise ValueError(f"no limit for {sorted(names)}")
    return out


def failures(found, limits):
    """The columns beyond their limit. What has none (decode, margin) is not looked at."""
    kinds = {column: kind for column, _, _, kind in COLUMNS}
    limit = lambda kind: getattr(limits, kind) if kind else 0.0
    return [column for column, kind in kinds.items()
            if column in found and not found[column] <= limit(kind)]


def table(rows):
    """rows: name -> {column: error}. Markdown; an empty cell where a case has no such tensor."""
    columns = [column for column, *_ in COLUMNS if any(column in row for row in rows.values())]
    extra = [key for row in rows.values() for key in row if key not in columns]
    columns += list(dict.fromkeys(extra))
    lines = ["| case | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    cell = lambda value: "" if value is None else "0" if value == 0 else f"{value:.0e}"
    for name, row in rows.items():
        lines.append(f"| `{name}` | " + " | ".join(cell(row.get(column)) for column in columns) + " |")
    return "\n".join(lines)
