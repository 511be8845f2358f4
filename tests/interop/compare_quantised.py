"""Compares quantised GGUF files that ggml made with what we read from them.

    VENV/bin/python tests/interop/compare_quantised.py build/ghost GGML-QUANTIZE models/tiny

GGML-QUANTIZE is ggml_quantize.cc, compiled against ggml. The model, a Mamba2 whose rows are multiples of 256, is
written as float32 GGUF, and ggml makes a file of every type from it. Both programs widen that file to float32: every
tensor must be the same to the bit. For Q8_0, `ghost convert` must write the same bytes as ggml. Needs gguf and numpy.
"""

import pathlib
import sys
import tempfile

import gguf

from compare_llama import run

TYPES = ("Q8_0", "Q6_K", "Q5_K", "Q5_0", "Q4_K", "Q4_0", "IQ4_NL")


def tensors(path):
    return {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}


def same_tensors(a, b):
    """How many tensors two files have, if all are equal to the bit."""
    first, second = tensors(a), tensors(b)
    if first.keys() != second.keys():
        sys.exit(f"{a.name}, {b.name}: other tensors")
    for name, tensor in first.items():
        other = second[name]
        if tensor.tensor_type != other.tensor_type or tensor.data.tobytes() != other.data.tobytes():
            sys.exit(f"{a.name}, {b.name}: {name} differs")
    return len(first)


def main():
    ghost, quantize, model = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        dense, ours, theirs = folder / "dense.gguf", folder / "ours.gguf", folder / "theirs.gguf"
        run(ghost, "convert", model, "--output", dense, "--dtype", "f32")
        for kind in TYPES:
            quantised = folder / f"{kind}.gguf"
            run(quantize, dense, quantised, kind)
            matrices = sum(tensor.tensor_type.name == kind for tensor in tensors(quantised).values())
            run(ghost, "convert", quantised, "--output", ours, "--dtype", "f32", "--force")
            run(quantize, quantised, theirs, "f32")
            print(f"{kind:7} {same_tensors(ours, theirs)} tensors equal to the bit, {matrices} of them quantised")
        run(ghost, "convert", model, "--output", ours, "--dtype", "q8_0", "--force")
        same_tensors(ours, folder / "Q8_0.gguf")
        print("Q8_0    of ghost convert: the same bytes")


if __name__ == "__main__":
    main()
