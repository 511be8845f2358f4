"""Loads pruned models with the transformers library and compares its logits with `ghost forward`.

    VENV/bin/python tests/interop/compare_transformers.py build/ghost tests/golden/gr_* tests/golden/fh_* ...

For every case (a checkpoint directory with case.json and expected.safetensors) the dense model is compared,
then one pruned to half its state by GHOST with channels removed, equally many per group. The library loads
both as they are; nothing of it is changed, and the limit is 1e-4 in every logit. Where the library computes
something else than the models were trained with, `ghost forward` is told to do the same:

  Granite, Bamba, Mamba2   one gated norm over the whole width       --norm-groups full
  Nemotron-H, Zamba2       step sizes of at least time_step_min      --dt-min 0.001

A class that the installed version does not have is reported, and counts as a failure unless --skip-missing is
given.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file

LIMIT = 1e-4
FLAGS = {
    "granitemoehybrid": ["--norm-groups", "full"],
    "bamba": ["--norm-groups", "full"],
    "mamba2": ["--norm-groups", "full"],
    "nemotron_h": ["--dt-min", "0.001"],
    "zamba2": ["--dt-min", "0.001"],
    "falcon_h1": [],
}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")


def ghost_logits(ghost, model, ids_file, flags, folder):
    out = folder / "forward.safetensors"
    run([ghost, "forward", str(model), "--input", str(ids_file), "--output", str(out), "--force", *flags])
    return load_file(out)["logits"]


def library_logits(model, ids):
    loaded = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    loaded.eval()
    with torch.no_grad():
        return loaded(input_ids=ids, use_cache=False).logits


def compare(ghost, case, folder):
    kind = json.loads((case / "config.json").read_text())["model_type"]
    flags = FLAGS[kind]
    ids_file = case / "expected.safetensors"
    ids = load_file(ids_file)["input_ids"]
    pruned = folder / "pruned"
    run([ghost, "prune", str(case), "--output", str(pruned), "--sparsity", "0.5", "--pool", "group",
         "--input", str(ids_file), *flags])
    rows = []
    for name, model in (("dense", case), ("pruned", pruned)):
        ours = ghost_logits(ghost, model, ids_file, flags, folder)
        theirs = library_logits(model, ids)
        rows.append((name, (ours - theirs).abs().max().item()))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ghost", type=pathlib.Path)
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    parser.add_argument("--skip-missing", action="store_true", help="classes that this version lacks are no failure")
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    failed = False
    for case in args.cases:
        kind = json.loads((case / "config.json").read_text())["model_type"]
        if kind not in transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES:
            print(f"{case.name:28} no class for {kind} in this version")
            failed |= not args.skip_missing
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name, difference in compare(str(args.ghost.resolve()), case, pathlib.Path(folder)):
                good = difference <= LIMIT
                failed |= not good
                print(f"{case.name:28} {name:7} {difference:.1e}{'' if good else '  BEYOND THE LIMIT'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
