"""How the library spells each family. One entry per family; nothing else tests a family by name."""

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass

from . import plans


@dataclass(frozen=True)
class Family:
    module: str  # transformers.models.<module>
    prefix: str  # of its class names
    library: str  # version of transformers that is the reference
    body: str  # attribute of the model that holds the layers
    final_norm: str  # attribute of the body
    cache: str = "past_key_values"  # argument and result that carry states from token to token
    takes_position: bool = False  # decoding has to say where it is
    decodes: bool = True  # cached decoding computes the same model
    one_chunk: bool = False  # the scan is wrong beyond one chunk: run it with chunk_size = length
    floors_step: bool = False  # the step size has time_step_min as its floor, and no other limit
    also_floored: bool = False  # the library does so against the config: that run is floored.logits
    whole_norm: bool = False  # gated norm over the full width: with groups, grouped.* is computed too
    limits: str = "mamba2"  # key of compare.LIMITS
    sizes: tuple = ()  # config keys of hidden, heads, head_dim, state, groups
    chunk: str = "chunk_size"  # config key
    # Hybrids only: what the family computes from a configuration, and keys of released files that follow
    # from the sizes of a case.
    plan: Callable | None = None
    released: Callable | None = None

    def classes(self):
        """(config class, model class, module)"""
        package = f"transformers.models.{self.module}"
        config = importlib.import_module(f"{package}.configuration_{self.module}")
        model = importlib.import_module(f"{package}.modeling_{self.module}")
        return getattr(config, self.prefix + "Config"), getattr(model, self.prefix + "ForCausalLM"), model

    def installed(self):
        """Whether the version of the library that is the reference is there."""
        try:
            import transformers
        except ImportError:
            return False
        return transformers.__version__.startswith(self.library + ".")

    def stored_body(self, config):
        """The body's name in files, which the library may change when it reads them."""
        return self.plan(config).body if self.plan else self.body


MAMBA_SIZES = ("hidden_size", "mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups")


def expand(case):
    width = case.heads * case.head_dim
    if width % case.hidden:
        raise ValueError(f"heads times head_dim must be a multiple of {case.hidden} in {case.family}")
    return {"mamba_expand": width // case.hidden}


def granite_keys(case):
    return {"layer_types": ["attention" if kind == "*" else "mamba" for kind in case.kinds], **expand(case)}


def bamba_keys(case):
    return {"attn_layer_indices": [j for j, kind in enumerate(case.kinds) if kind == "*"], **expand(case)}


def nemotron_keys(case):
    return {"hybrid_override_pattern": case.kinds, "time_step_limit": [0.0, math.inf], "time_step_min": 0.001}


def falcon_keys(case):
    return {"mamba_d_ssm": case.heads * case.head_dim}


FAMILIES = {
    "mamba2": Family("mamba2", "Mamba2", "4.57", "backbone", "norm_f", "cache_params", takes_position=True,
                     whole_norm=True,
                     sizes=("hidden_size", "num_heads", "head_dim", "state_size", "n_groups")),
    "zamba2": Family("zamba2", "Zamba2", "4.57", "model", "final_layernorm", one_chunk=True,
                     floors_step=True, limits="zamba2",
                     sizes=("hidden_size", "n_mamba_heads", "mamba_headdim", "mamba_d_state",
                            "mamba_ngroups")),
    # Layers without a mixer, or with attention beside it: the generator goes by mixers, not by layers.
    "granitemoehybrid": Family("granitemoehybrid", "GraniteMoeHybrid", "5.22", "model", "norm",
                               decodes=False, whole_norm=True, limits="hybrid", sizes=MAMBA_SIZES,
                               chunk="mamba_chunk_size", plan=plans.granite, released=granite_keys),
    "bamba": Family("bamba", "Bamba", "5.22", "model", "final_layernorm", decodes=False, whole_norm=True,
                    limits="hybrid", sizes=MAMBA_SIZES, chunk="mamba_chunk_size", plan=plans.bamba,
                    released=bamba_keys),
    "falcon_h1": Family("falcon_h1", "FalconH1", "5.22", "model", "final_layernorm", decodes=False,
                        limits="hybrid", sizes=MAMBA_SIZES, chunk="mamba_chunk_size", plan=plans.falcon,
                        released=falcon_keys),
    "nemotron_h": Family("nemotron_h", "NemotronH", "5.22", "model", "norm_f", decodes=False,
                         also_floored=True, limits="hybrid",
                         sizes=("hidden_size", "mamba_num_heads", "mamba_head_dim", "ssm_state_size",
                                "n_groups"),
                         plan=plans.nemotron, released=nemotron_keys),
}


def find(model_type):
    """The family of a configuration; ValueError names those there are."""
    if model_type not in FAMILIES:
        raise ValueError(f"no family {model_type}; there are " + ", ".join(FAMILIES))
    return FAMILIES[model_type]
