"""How the library spells each family. One entry per family; nothing else tests a family by name."""

import importlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    module: str  # transformers.models.<module>
    prefix: str  # of its class names
    body: str  # attribute of the model that holds the layers
    final_norm: str  # attribute of the body
    cache: str  # argument and result that carry states from token to token
    hybrid_cache: str = ""  # class of the cache where the model does not make one by itself
    takes_position: bool = False  # decoding has to say where it is
    one_chunk: bool = False  # the scan is wrong beyond one chunk: run it with chunk_size = length
    floors_step: bool = False  # the step size has time_step_min as its floor, and no other limit
    whole_norm: bool = False  # gated norm over the full width: with groups, grouped.* is computed too
    parts: tuple = ()  # (name in debug.*, attribute of a layer) of the parts of a hybrid layer
    limits: str = "mamba2"  # key of compare.LIMITS
    sizes: tuple = ()  # config keys of hidden, heads, head_dim, state, groups; empty: `make` cannot

    def classes(self):
        """(config class, model class, module)"""
        package = f"transformers.models.{self.module}"
        config = importlib.import_module(f"{package}.configuration_{self.module}")
        model = importlib.import_module(f"{package}.modeling_{self.module}")
        return getattr(config, self.prefix + "Config"), getattr(model, self.prefix + "ForCausalLM"), model


ATTENTION_AND_MLP = (("mamba", "mamba"), ("attention", "self_attn"), ("mlp", "feed_forward"))

FAMILIES = {
    "mamba2": Family("mamba2", "Mamba2", "backbone", "norm_f", "cache_params", takes_position=True,
                     whole_norm=True,
                     sizes=("hidden_size", "num_heads", "head_dim", "state_size", "n_groups")),
    "zamba2": Family("zamba2", "Zamba2", "model", "final_layernorm", "past_key_values", one_chunk=True,
                     floors_step=True, limits="zamba2",
                     sizes=("hidden_size", "n_mamba_heads", "mamba_headdim", "mamba_d_state",
                            "mamba_ngroups")),
    # Layers without a mixer, or with attention beside it: the generator goes by mixers, not by layers.
    "granitemoehybrid": Family("granitemoehybrid", "GraniteMoeHybrid", "model", "norm", "past_key_values",
                               hybrid_cache="HybridMambaAttentionDynamicCache", takes_position=True,
                               whole_norm=True, limits="hybrid",
                               parts=(("mamba", "mamba"), ("attention", "self_attn"), ("mlp", "shared_mlp"),
                                      ("moe", "block_sparse_moe"))),
    "bamba": Family("bamba", "Bamba", "model", "final_layernorm", "past_key_values",
                    hybrid_cache="HybridMambaAttentionDynamicCache", takes_position=True, whole_norm=True,
                    limits="hybrid", parts=ATTENTION_AND_MLP),
    "falcon_h1": Family("falcon_h1", "FalconH1", "model", "final_layernorm", "past_key_values",
                        hybrid_cache="FalconHybridMambaAttentionDynamicCache", takes_position=True,
                        limits="hybrid", parts=ATTENTION_AND_MLP),
}


def find(model_type):
    """The family of a configuration; ValueError names those there are."""
    if model_type not in FAMILIES:
        raise ValueError(f"no family {model_type}; there are " + ", ".join(FAMILIES))
    return FAMILIES[model_type]
