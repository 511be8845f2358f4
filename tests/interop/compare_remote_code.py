"""Runs modeling_ghost_mamba2.py in the transformers library and compares its logits with `ghost forward`.

    VENV/bin/python tests/interop/compare_remote_code.py build/ghost tests/golden/m2_* ...

Every case, a Hugging Face Mamba2, is pruned to half its state on random tokens, with storage `ragged` and with
`--method balanced --budget layers`, and a directory with maps is made from the first by hand: the dense model, and per
group one orthogonal matrix times the selection of the kept channels as map of B and of C, which computes the same.
AutoModelForCausalLM loads all three with trust_remote_code, and for each

  - logits of the whole sequence, of tokens one by one through a cache, and of a sequence whose second part continues
    the cache of the first, differ from ghost's by at most 1e-4, as does the loss;
  - the cache has P x r numbers per head, however long the sequence is;
  - greedy and beam search give the same tokens with and without a cache, and with padding on the left;
  - maps stay float32 in a model of bfloat16, and gradients of all weights are finite;
  - a saved copy loads and gives the same logits.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

scratch = tempfile.TemporaryDirectory()
os.environ["HF_MODULES_CACHE"] = scratch.name  # the library copies remote code there
os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

LIMIT = 1e-4
MODULE = "modeling_ghost_mamba2.py"
SEQUENCES, LENGTH = 2, 200  # several chunks of the scan, the last one not full


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def ghost_logits(ghost, model, ids_file, folder):
    out = folder / "forward.safetensors"
    run(ghost, "forward", model, "--input", ids_file, "--output", out, "--force")
    return load_file(out)["logits"]


def load(model, dtype=torch.float32):
    loaded = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=dtype, trust_remote_code=True)
    return loaded.eval()


def dense_tensors(case):
    tensors = {}
    for file in sorted(case.glob("model*.safetensors")):
        tensors.update(load_file(file))
    return tensors


def orthogonal(size, generator):
    return torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.float64))[0]


def write_mapped(case, ragged, to):
    """The dense model of `case` with maps to the channels that `ragged` keeps."""
    config = json.loads((ragged / "config.json").read_text())
    layers = json.loads((ragged / "ghost.json").read_text())["layers"]
    generator = torch.Generator().manual_seed(1)
    tensors = dense_tensors(case)
    for number, layer in enumerate(layers):
        maps = []
        for kept in layer["kept"]:
            selection = torch.zeros(len(kept), config["state_size"], dtype=torch.float64)
            selection[range(len(kept)), kept] = 1.0
            maps.append(orthogonal(len(kept), generator) @ selection)
        for name in ("b_map", "c_map"):
            tensors[f"backbone.layers.{number}.mixer.{name}.weight"] = torch.cat(maps).float()
    to.mkdir()
    config["ghost_state_maps"] = True
    (to / "config.json").write_text(json.dumps(config))
    shutil.copy(ragged / MODULE, to)
    save_file(tensors, to / "model.safetensors", metadata={"format": "pt"})


class Checks:
    """Counts failures, so that one run shows all of them."""

    def __init__(self, name):
        self.name = name
        self.failed = False

    def expect(self, good, what):
        if not good:
            self.failed = True
            print(f"{self.name}: FAILED: {what}", flush=True)


def one_by_one(model, ids):
    cache, logits = None, []
    for token in ids.split(1, dim=1):
        out = model(input_ids=token, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        logits.append(out.logits)
    return torch.cat(logits, dim=1), cache


def in_two_parts(model, ids):
    cut = LENGTH // 2 - 1
    first = model(input_ids=ids[:, :cut], use_cache=True)
    second = model(input_ids=ids[:, cut:], past_key_values=first.past_key_values, use_cache=True)
    return torch.cat([first.logits, second.logits], dim=1)


def check_logits(model, ids, expected, checks):
    stepped, cache = one_by_one(model, ids)
    ways = [model(input_ids=ids, use_cache=False).logits, stepped, in_two_parts(model, ids)]
    differences = [(logits - expected).abs().max().item() for logits in ways]
    checks.expect(max(differences) <= LIMIT, f"logits differ by {differences}")
    config = model.config
    heads = config.num_heads // config.n_groups
    for state, sizes in zip(cache.state, config.ghost_state_sizes):
        numbers = sum(group.numel() for group in state)
        checks.expect(numbers == len(ids) * heads * config.head_dim * sum(sizes), f"a state has {numbers} numbers")
    return differences


def check_loss(model, ids, expected, checks):
    model.zero_grad()
    loss = model(input_ids=ids, labels=ids).loss
    reference = torch.nn.functional.cross_entropy(expected[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    checks.expect((loss - reference).abs().item() <= LIMIT, f"loss {loss.item()} instead of {reference.item()}")
    loss.backward()
    for name, parameter in model.named_parameters():
        finite = parameter.grad is not None and bool(parameter.grad.isfinite().all())
        checks.expect(finite, f"no finite gradient of {name}")
    model.zero_grad()


def check_generation(model, ids, checks):
    options = {"max_new_tokens": 24, "min_new_tokens": 24, "do_sample": False, "pad_token_id": 0}
    prompt = ids[:, :40]
    mask = torch.ones_like(prompt)

    def generate(tokens, attention, **more):
        return model.generate(tokens, attention_mask=attention, **options, **more)

    greedy = generate(prompt, mask)
    checks.expect(torch.equal(greedy, generate(prompt, mask, use_cache=False)), "greedy search depends on the cache")
    padded = torch.nn.functional.pad(prompt, (5, 0), value=0)
    padded_mask = torch.nn.functional.pad(mask, (5, 0), value=0)
    for use_cache in (True, False):
        out = generate(padded, padded_mask, use_cache=use_cache)
        checks.expect(torch.equal(greedy, out[:, 5:]), f"padding changes the tokens, use_cache={use_cache}")
    beams = generate(prompt, mask, num_beams=3)
    checks.expect(torch.equal(beams, generate(prompt, mask, num_beams=3, use_cache=False)), "beams depend on the cache")
    half = generate(prompt, mask, return_dict_in_generate=True)
    tokens = half.sequences
    longer = model.generate(
        tokens, attention_mask=torch.ones_like(tokens), past_key_values=half.past_key_values, **options
    )
    whole = model.generate(tokens, attention_mask=torch.ones_like(tokens), **options)
    checks.expect(torch.equal(longer, whole), "continuing a cache changes the tokens")


def check_half_precision(path, ids, expected, checks):
    model = load(path, torch.bfloat16)
    types = {name.split(".")[-2]: parameter.dtype for name, parameter in model.named_parameters()}
    checks.expect(types["in_proj"] == torch.bfloat16, "in_proj is not bfloat16")
    for name in ("b_map", "c_map"):
        checks.expect(types.get(name, torch.float32) == torch.float32, f"{name} is {types.get(name)}")
    error = (model(input_ids=ids).logits - expected).abs().max() / expected.abs().max()
    checks.expect(error.item() <= 0.1, f"bfloat16 is off by {error.item()} of the largest logit")
    return error.item()


def check_saved_copy(model, ids, folder, checks):
    model.save_pretrained(folder)
    checks.expect((folder / MODULE).is_file(), f"a saved copy has no {MODULE}")
    copy = load(folder)
    difference = (copy(input_ids=ids).logits - model(input_ids=ids).logits).abs().max().item()
    checks.expect(difference == 0.0, f"a saved copy differs by {difference}")


def check_model(name, path, ids, expected, folder):
    checks = Checks(name)
    model = load(path)
    checks.expect(type(model).__name__ == "GhostMamba2ForCausalLM", f"loaded a {type(model).__name__}")
    with torch.no_grad():
        differences = check_logits(model, ids, expected, checks)
        check_generation(model, ids, checks)
        half = check_half_precision(path, ids, expected, checks)
        check_saved_copy(model, ids, folder, checks)
    check_loss(model, ids, expected, checks)
    words = " ".join(f"{difference:.1e}" for difference in differences)
    print(f"{name:38} {words}  bfloat16 {half:.3f}{'  FAILED' if checks.failed else ''}", flush=True)
    return checks.failed


def check_case(ghost, case, folder):
    vocabulary = json.loads((case / "config.json").read_text())["vocab_size"]
    ids = torch.randint(vocabulary, (SEQUENCES, LENGTH), generator=torch.Generator().manual_seed(2))
    ids_file = folder / "ids.safetensors"
    save_file({"input_ids": ids}, ids_file)
    ragged, mapped, balanced = folder / "ragged", folder / "mapped", folder / "balanced"
    run(ghost, "prune", case, "--output", ragged, "--storage", "ragged", "--input", ids_file)
    run(ghost, "prune", case, "--output", balanced, "--method", "balanced", "--budget", "layers", "--input", ids_file)
    write_mapped(case, ragged, mapped)
    same = ghost_logits(ghost, ragged, ids_file, folder)
    other = ghost_logits(ghost, balanced, ids_file, folder)
    failed = False
    for name, path, expected in (("ragged", ragged, same), ("mapped", mapped, same), ("balanced", balanced, other)):
        failed |= check_model(f"{case.name} {name}", path, ids, expected, folder / f"saved-{name}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ghost", type=pathlib.Path)
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    print("largest difference of a logit: whole sequence, token by token, in two parts")
    failed = False
    for case in args.cases:
        with tempfile.TemporaryDirectory() as folder:
            failed |= check_case(args.ghost.resolve(), case, pathlib.Path(folder))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
