"""Refreshing a case's results, and making a new case."""

import json
import sys
from pathlib import Path

from . import checkpoint, compare, families, quantities
from .reference import FORMULAS, LIBRARY
from .verify import GAP, MARGIN, prepare, read_case
from .weights import random_weights, stored_weights

ROOM = 0.25  # rounding may take this share of a limit; masks must be the same

# Names of the figures in case.json, by column of the tables.
ROUNDING = {"logits": "logits_max_abs", "hidden": "hidden_rel_to_max", "state": "ssm_state_rel_to_max",
            "S": "S_rel", "P": "P_rel", "Q": "Q_rel", "seq. S": "seq_S_rel",
            "pruned logits": "ghost_logits_max_abs", "loss": "loss_abs", "gradients": "grad_rel_to_max",
            "grouped logits": "grouped_logits_max_abs", "grouped S": "grouped_S_rel"}


def measure(config, weights, ids, debug):
    """The float32 result, and the part of case.json that is measured: it against its float64 twin."""
    single = quantities.compute(config, weights, ids, precise=False, debug=debug)
    double = quantities.compute(config, weights, ids, precise=True, debug=debug)
    found = compare.errors(single.tensors, double.tensors)
    limits = compare.LIMITS[families.find(config["model_type"]).limits]
    if beyond := compare.failures(found, limits.scaled(ROOM)):
        raise ValueError(f"rounding leaves too little room below the limits: {beyond}; take another seed")
    masks = [mask for name, mask in single.tensors.items() if name.startswith("ghost.mask.")]
    rounding = {ROUNDING[column]: error for column, error in found.items() if column in ROUNDING}
    rounding["logits_max_magnitude"] = double.tensors["logits"].abs().max().item()
    if single.decode is not None:
        rounding["decode_vs_prefill_logits_f32"] = single.decode
        rounding["decode_vs_prefill_logits_f64"] = double.decode
    facts = {"sparsity": 0.5, "pruned_per_group": [(mask == 0).sum(1).tolist() for mask in masks],
             "smallest_mask_margin": single.margin, "rounding": rounding,
             "loss": single.tensors["taylor.loss"].item()}
    for name, change in (("ghost.logits", "pruning"), ("floored.logits", "floor")):
        if name in single.tensors:
            facts[change + "_changes_logits_by"] = compare.absolute(single.tensors[name],
                                                                    single.tensors["logits"])
    return single, facts


def write_results(directory, facts, result, ids):
    directory = Path(directory)
    checkpoint.save_tensors(quantities.stored(result.tensors, ids), directory / "expected.safetensors")
    (directory / "case.json").write_text(json.dumps(facts, indent=1) + "\n")


def refresh(directory):
    """expected.safetensors and the measured part of case.json again, from weights and tokens of the case."""
    prepare()
    config, weights, expected = read_case(directory)
    debug = any(name.startswith("debug.") for name in expected)
    result, measured = measure(config, weights, expected["input_ids"], debug)
    result.tensors = {name: result.tensors[name] for name in expected if name != "input_ids"}
    facts = checkpoint.read_json(Path(directory) / "case.json")
    write_results(directory, {**facts, **measured}, result, expected["input_ids"])
    return 0


def make(case, directory, tries):
    """A new directory with the first seed, 100 apart, whose masks and choices of experts are no close
    calls."""
    prepare()
    family = families.find(case.family)
    if not family.installed():
        raise ValueError(f"cases of family {case.family} are made with transformers {family.library}")
    directory = Path(directory)
    directory.mkdir()
    for seed in range(case.seed, case.seed + 100 * tries, 100):
        ids = write_model(case, directory, seed)
        config, weights = checkpoint.read_config(directory), checkpoint.read_weights(directory)
        source = FORMULAS if family.plan else LIBRARY  # the formulas count close choices
        runs = [quantities.prune(config, weights, ids, sparsity, False, source)
                for sparsity in quantities.SPARSITIES.values()]
        margin, gap = min(run.margin for run in runs), min(run.gap for run in runs)
        routing = f", routing gap {gap:.1e}" if gap < float("inf") else ""
        print(f"seed {seed}: smallest mask margin {margin:.2%}{routing}", file=sys.stderr)
        if margin >= MARGIN and gap >= GAP:
            break
    else:
        raise ValueError(f"only close calls in {tries} seeds; {directory} holds the last one")
    result, measured = measure(config, weights, ids, case.debug)
    suffix = ".in_proj.weight"
    mixers = [name.removesuffix(suffix) for name in weights if name.endswith(suffix)]
    mixers.sort(key=lambda name: [int(part) if part.isdigit() else part for part in name.split(".")])
    facts = {"family": case.family, "layout": case.layout, "seed": seed, "stored_dtype": case.dtype,
             "batch": case.batch, "length": case.length, "layers": case.layers, "hidden_size": case.hidden,
             "num_heads": case.heads, "head_dim": case.head_dim, "state_size": case.state,
             "n_groups": case.groups, "chunk_size": case.chunk, "mixers": mixers}
    if family.plan:
        facts["layer_kinds"] = case.kinds
        facts["mixer_layers"] = [j for j, kind in enumerate(case.kinds) if kind in "MH"]
    if gap < float("inf"):
        facts["smallest_routing_gap"] = gap
    write_results(directory, {**facts, **measured}, result, ids)
    return 0


def write_model(case, directory, seed):
    """config.json and weights of a seed; returns its tokens."""
    import torch

    if families.find(case.family).plan:
        return write_hybrid(case, directory, seed)
    config_class, model_class, _ = families.find(case.family).classes()
    config = config_class(**library_arguments(case))
    config.architectures, config.dtype = [model_class.__name__], getattr(torch, checkpoint.DTYPES[case.dtype])
    weights, ids = random_weights(model_class(config), case, seed)
    weights = stored_weights(weights, config.dtype)
    if case.layout == "state-spaces":
        checkpoint.write_json(directory / "config.json", checkpoint.state_spaces_config(case))
        checkpoint.write_pytorch(directory, weights)
        return ids
    checkpoint.write_json(directory / "config.json", checkpoint.styled_config(config, case))
    metadata = {"format": "pt"}
    if case.style == "converted" and case.tied:
        metadata["lm_head.weight"] = "backbone.embeddings.weight"
    checkpoint.write_safetensors(directory, weights, case.shards, metadata)
    return ids


def write_hybrid(case, directory, seed):
    """As write_model; the plan says which tensors a file holds."""
    import torch

    from . import hybrid

    document = checkpoint.released_config(case)
    plan = families.find(case.family).plan(document)
    weights, ids = random_weights(hybrid.Model(plan), case, seed, plan.embedding_factor, plan.head_factor)
    if case.style == "5.x":
        document = checkpoint.in_5x_style(document)
    checkpoint.write_json(directory / "config.json", dict(sorted(document.items())))
    weights = stored_weights(weights, getattr(torch, checkpoint.DTYPES[case.dtype]))
    checkpoint.write_safetensors(directory, weights, case.shards, {"format": "pt"})
    return ids


def library_arguments(case):
    """Arguments of the library's config class for a case."""
    keys = families.find(case.family).sizes
    arguments = dict(zip(keys, (case.hidden, case.heads, case.head_dim, case.state, case.groups)))
    rows = -(-case.vocab // 16) * 16 if case.layout == "state-spaces" else case.vocab
    arguments.update(num_hidden_layers=case.layers, chunk_size=case.chunk, vocab_size=rows,
                     tie_word_embeddings=case.tied, **case.config)
    kinds = arguments.get("layers_block_type", range(case.layers))
    if len(kinds) != case.layers or case.heads % case.groups:
        raise ValueError("layers must be as many as layers_block_type lists, and groups divide heads")
    return arguments
