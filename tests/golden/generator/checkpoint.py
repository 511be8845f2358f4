"""config.json and weights of a case: reading every layout the cases use, and writing it."""

import json
from collections import OrderedDict
from pathlib import Path

from . import families

DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}
INFINITY_5X = {"__float__": "Infinity"}
STATE_SPACES_DEFAULTS = {"d_state": 128, "headdim": 64, "ngroups": 1, "expand": 2, "d_conv": 4,
                         "chunk_size": 256, "bias": False, "conv_bias": True, "dt_limit": [0.0, float("inf")]}


def read_json(path):
    """Python's parser takes the bare word Infinity; the 5.x spelling is decoded here."""
    decode = lambda entry: float("inf") if entry == INFINITY_5X else entry
    return json.loads(Path(path).read_text(), object_hook=decode)


def write_json(path, document):
    Path(path).write_text(json.dumps(document, indent=2) + "\n")


def read_config(directory):
    """The case's configuration under the library's keys, with model_type."""
    config = read_json(Path(directory) / "config.json")
    return config if "model_type" in config else from_state_spaces(config)


def from_state_spaces(config):
    ssm = {**STATE_SPACES_DEFAULTS, **config["ssm_cfg"]}
    multiple = config.get("pad_vocab_size_multiple", 8)
    rows = -(-config["vocab_size"] // multiple) * multiple
    return {"model_type": "mamba2", "hidden_size": config["d_model"], "num_hidden_layers": config["n_layer"],
            "vocab_size": rows, "tie_word_embeddings": config.get("tie_embeddings", True),
            "num_heads": ssm["expand"] * config["d_model"] // ssm["headdim"], "head_dim": ssm["headdim"],
            "state_size": ssm["d_state"], "n_groups": ssm["ngroups"], "expand": ssm["expand"],
            "conv_kernel": ssm["d_conv"], "chunk_size": ssm["chunk_size"], "use_bias": ssm["bias"],
            "use_conv_bias": ssm["conv_bias"], "time_step_limit": list(ssm["dt_limit"]),
            "layer_norm_epsilon": 1e-5}


def read_weights(directory):
    """All tensors by the library's names, widened to float32 (exact for bf16 and f16)."""
    import torch
    from safetensors.torch import load_file

    directory = Path(directory)
    index = directory / "model.safetensors.index.json"
    if index.exists():
        places = read_json(index)["weight_map"]
        shards = {file: load_file(directory / file) for file in set(places.values())}
        tensors = {name: shards[file][name] for name, file in places.items()}
    elif (directory / "model.safetensors").exists():
        tensors = load_file(directory / "model.safetensors")
    else:
        tensors = torch.load(directory / "pytorch_model.bin", weights_only=True)
    renamed = {"backbone.embedding.weight": "backbone.embeddings.weight"}
    return {renamed.get(name, name): tensor.float() for name, tensor in tensors.items()}


def save_tensors(tensors, path, metadata=None):
    """A safetensors file that others may read too (the library makes it private)."""
    from safetensors.torch import save_file

    save_file(tensors, path, metadata)
    Path(path).chmod(0o644)


def write_safetensors(directory, tensors, shards, metadata):
    """One file, or `shards` files with an index. One norm goes to the first shard, away from the rest of its
    layer: tensors of a layer may be spread over files."""
    directory = Path(directory)
    if shards == 1:
        save_tensors(tensors, directory / "model.safetensors", metadata)
        return
    names = sorted(tensors)
    stray = [name for name in names if ".layers." in name and name.endswith("norm.weight")][-1]
    files = [f"model-{i + 1:05}-of-{shards:05}.safetensors" for i in range(shards)]
    places = {name: files[i * shards // len(names)] for i, name in enumerate(names)}
    places[stray] = files[0]
    for file in files:
        part = {name: tensors[name] for name in names if places[name] == file}
        save_tensors(part, directory / file, metadata)
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    write_json(directory / "model.safetensors.index.json",
               {"metadata": {"total_size": size}, "weight_map": places})


def write_pytorch(directory, tensors):
    """pytorch_model.bin with the original layout's names; a tied head shares the embedding's storage."""
    import torch

    renamed = {"backbone.embeddings.weight": "backbone.embedding.weight"}
    state = OrderedDict((renamed.get(name, name), tensor) for name, tensor in tensors.items())
    state.setdefault("lm_head.weight", state["backbone.embedding.weight"])
    torch.save(state, Path(directory) / "pytorch_model.bin")


def state_spaces_config(case):
    """config.json of the original layout; sizes that are its defaults are left out, as in released files."""
    ssm = {"layer": "Mamba2"}
    sizes = {"d_state": case.state, "headdim": case.head_dim, "ngroups": case.groups,
             "chunk_size": case.chunk}
    ssm.update({key: value for key, value in sizes.items() if value != STATE_SPACES_DEFAULTS[key]})
    return {"d_model": case.hidden, "d_intermediate": 0, "n_layer": case.layers, "vocab_size": case.vocab,
            "ssm_cfg": ssm, "attn_layer_idx": [], "attn_cfg": {}, "rms_norm": True, "residual_in_fp32": True,
            "fused_add_norm": True, "pad_vocab_size_multiple": 16, "tie_embeddings": True}


def released_config(case):
    """config.json of a hybrid in the style of released files, which 4.57 wrote."""
    family = families.find(case.family)
    if len(case.kinds) != case.layers or case.heads % case.groups or case.style == "converted":
        raise ValueError("a hybrid has a kind per layer, groups that divide heads, and style 4.57 or 5.x")
    sizes = dict(zip(family.sizes, (case.hidden, case.heads, case.head_dim, case.state, case.groups)))
    document = {"architectures": [family.prefix + "ForCausalLM"], "model_type": case.family,
                "num_hidden_layers": case.layers, family.chunk: case.chunk, "vocab_size": case.vocab,
                "tie_word_embeddings": case.tied, "torch_dtype": DTYPES[case.dtype],
                "transformers_version": "4.56.0", **sizes, **family.released(case), **case.config}
    return {key: value for key, value in document.items() if key not in case.omit}


def in_5x_style(document):
    """A released config.json as the library's class of 5.x writes it again."""
    config_class, *_ = families.find(document["model_type"]).classes()
    return json.loads(config_class.from_dict(document).to_json_string())


def styled_config(config, case):
    """config.json of a library model: as its 4.57 class writes it, or rewritten in another style."""
    document = json.loads(config.to_json_string())
    if case.style == "converted":  # the conversion script writes neither
        document.pop("architectures", None)
        document.pop("dtype", None)
    if case.style == "5.x":
        document.pop("rms_norm", None)
        document["transformers_version"] = "5.15.1"
        limit = document.get("time_step_limit")
        document["time_step_limit"] = limit and [INFINITY_5X if v == float("inf") else v for v in limit]
    return dict(sorted(document.items()))
