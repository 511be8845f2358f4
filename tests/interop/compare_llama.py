"""Writes golden cases as GGUF, prunes them, and compares llama.cpp's logits with `ghost forward`.

    VENV/bin/python tests/interop/compare_llama.py build/ghost LLAMA-LOGITS tests/golden/gr_* tests/golden/nh_* ...

LLAMA-LOGITS is llama_logits.cc, compiled against llama.cpp. Every case is converted to GGUF (float32), and that
file is pruned to half its state, equally many channels per group. Both are run by llama.cpp on the case's tokens,
as a whole sequence and token by token. The limit is 1e-4 in every logit.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy
from safetensors.numpy import load_file

LIMIT = 1e-4


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr[-3000:]}")


def llama_logits(program, model, ids, folder, mode):
    head = numpy.array(ids.shape, dtype=numpy.int32)
    (folder / "ids.bin").write_bytes(head.tobytes() + ids.astype(numpy.int32).tobytes())
    run(program, model, folder / "ids.bin", folder / "logits.bin", *mode)
    return numpy.fromfile(folder / "logits.bin", dtype=numpy.float32).reshape(*ids.shape, -1)


def compare(ghost, program, case, folder):
    ids_file = case / "expected.safetensors"
    ids = load_file(ids_file)["input_ids"]
    dense, pruned = folder / "dense.gguf", folder / "pruned.gguf"
    run(ghost, "convert", case, "--output", dense, "--dtype", "f32")
    run(ghost, "prune", dense, "--output", pruned, "--pool", "group", "--input", ids_file)
    for name, model in (("dense", dense), ("pruned", pruned)):
        run(ghost, "forward", model, "--input", ids_file, "--output", folder / "forward", "--force")
        ours = load_file(folder / "forward")["logits"]
        yield name, [abs(ours - llama_logits(program, model, ids, folder, mode)).max() for mode in ([], ["stepwise"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ghost", type=pathlib.Path)
    parser.add_argument("llama_logits", type=pathlib.Path)
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    failed = False
    for case in args.cases:
        with tempfile.TemporaryDirectory() as folder:
            programs = args.ghost.resolve(), args.llama_logits.resolve()
            for name, differences in compare(*programs, case, pathlib.Path(folder)):
                good = max(differences) <= LIMIT
                failed |= not good
                words = " ".join(f"{difference:.1e}" for difference in differences)
                print(f"{case.name:28} {name:7} {words}{'' if good else '  BEYOND THE LIMIT'}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
