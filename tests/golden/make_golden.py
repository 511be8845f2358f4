#!/usr/bin/env python3
"""Verifies, refreshes and makes golden cases with the Hugging Face library. See tests/golden/README.md."""

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from generator import cases  # noqa: E402  (needs the path above; imports no torch)


def list_cases(options):
    """Prints the table's names. With --check, fails when directories and table differ, or a module is no
    Python: a test that needs neither torch nor time."""
    names = [case.name for case in cases.CASES]
    print("\n".join(names))
    if not options.check:
        return 0
    for path in HERE.rglob("*.py"):
        compile(path.read_text(), path, "exec")
    there = {path.parent.name for path in HERE.glob("*/case.json")}
    for name in sorted(there ^ set(names)):
        print(f"{name}: only {'a directory' if name in there else 'in the table'}", file=sys.stderr)
    return 0 if there == set(names) else 1


def verify(options):
    from generator import verify as verifying

    directories = options.directory or [HERE / case.name for case in cases.CASES]
    return verifying.verify(directories, single=options.single, formulas=options.formulas)


def refresh(options):
    from generator import making

    return making.refresh(options.directory)


def make(options):
    from generator import making

    like = cases.find(options.like or options.name)
    changes = {key: getattr(options, key) for key in [*CHANGES, "tied", "omit"]}
    case = cases.variant(like, options.name, config=dict(options.config), **changes)
    return making.make(case, options.output or HERE / options.name, options.tries)


# Fields of a case that `make` can set; the rest comes from the case it is like.
CHANGES = {"seed": int, "batch": int, "length": int, "hidden": int, "heads": int, "head_dim": int,
           "state": int, "groups": int, "layers": int, "chunk": int, "vocab": int, "shards": int,
           "dead": float, "dtype": str, "style": str, "layout": str, "kinds": str}
CHOICES = {"dtype": ["f32", "bf16", "f16"], "style": ["4.57", "5.x", "converted"],
           "layout": ["huggingface", "state-spaces"]}


def setting(text):
    """(key, value) of KEY=JSON."""
    key, _, value = text.partition("=")
    return key, json.loads(value)


def parser():
    top = argparse.ArgumentParser(description=__doc__)
    verbs = top.add_subparsers(dest="verb", required=True)

    verb = verbs.add_parser("list", help="names of the committed cases")
    verb.add_argument("--check", action="store_true", help="fail when the directories differ")
    verb.set_defaults(run=list_cases)

    verb = verbs.add_parser("verify", help="compute everything again and compare within the limits")
    verb.add_argument("directory", nargs="*", type=Path, help="default: all committed cases")
    verb.add_argument("--single", action="store_true", help="float32 only, without the float64 twin")
    verb.add_argument("--formulas", action="store_true",
                      help="also compare with the formulas in float64 (mamba2 in numpy, hybrids in torch)")
    verb.set_defaults(run=verify)

    verb = verbs.add_parser("refresh", help="write expected.safetensors and case.json from the weights")
    verb.add_argument("directory", type=Path)
    verb.set_defaults(run=refresh)

    verb = verbs.add_parser("make", help="a new case with random weights")
    verb.add_argument("name")
    verb.add_argument("--like", help="committed case it takes its form from (default: the one of that name)")
    verb.add_argument("--output", type=Path, help="directory to make (default: beside this file)")
    verb.add_argument("--tries", type=int, default=20, help="seeds to try, 100 apart")
    for key, kind in CHANGES.items():
        verb.add_argument("--" + key.replace("_", "-"), type=kind, choices=CHOICES.get(key))
    verb.add_argument("--tied", action=argparse.BooleanOptionalAction,
                      help="one tensor for embedding and head")
    verb.add_argument("--config", metavar="KEY=JSON", type=setting, action="append", default=[],
                      help="an entry of config.json, in the spelling of released files; may be repeated")
    verb.add_argument("--omit", metavar="KEY", nargs="+",
                      help="entries that config.json shall not have (hybrids)")
    verb.set_defaults(run=make)
    return top


if __name__ == "__main__":
    arguments = parser().parse_args()
    try:
        sys.exit(arguments.run(arguments))
    except (ValueError, OSError) as error:
        sys.exit(f"make_golden: {error}")
