"""What the hybrid families compute, read from a configuration: a plan lists the residual steps of every layer
and names the tensors as files do. No torch here; hybrid.py computes a plan.

Every layer is one or two steps h <- h + factor * sum(after * part(before * norm(h))).
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Mixer:
    heads: int
    head_dim: int
    state: int
    groups: int
    taps: int
    conv_bias: bool
    in_bias: bool
    out_bias: bool
    gate: str  # "before" or "after" the norm; "alone": there is no norm
    norm_groups: int  # the norm's mean of squares runs over width / norm_groups channels
    limit: tuple  # lowest and highest step size
    rows: tuple = (1.0, 1.0, 1.0, 1.0, 1.0)  # factors of the projected z, x, B, C, step size


@dataclass(frozen=True)
class Attention:
    heads: int
    kv_heads: int
    head_dim: int
    scale: float
    rotated: int  # first channels of a head that RoPE rotates; 0: no RoPE
    theta: float
    bias: bool
    key_factor: float = 1.0


@dataclass(frozen=True)
class GatedMlp:
    """down(up(x) * silu(gate(x)))"""

    width: int
    bias: bool
    gate_factor: float = 1.0
    down_factor: float = 1.0


@dataclass(frozen=True)
class JoinedMlp:
    """As GatedMlp, with gate and up in one matrix, gate first."""

    width: int


@dataclass(frozen=True)
class SquaredMlp:
    """down(relu(up(x))^2)"""

    width: int
    bias: bool


@dataclass(frozen=True)
class JoinedExperts:
    """Experts of the form of JoinedMlp; a softmax over the chosen ones weights them."""

    count: int
    chosen: int
    width: int


@dataclass(frozen=True)
class SquaredExperts:
    """Experts of the form of SquaredMlp beside a shared one; sigmoid scores, chosen with a correction."""

    count: int
    chosen: int
    width: int
    shared_width: int
    latent: int | None  # width that experts work in, between two projections; None: the model's
    groups: int  # of experts; the choice is limited to the best `kept_groups` of them
    kept_groups: int
    normalise: bool
    scaling: float
    bias: bool  # of the shared expert and the latent projections


@dataclass(frozen=True)
class Part:
    label: str  # in debug.<layer>.<label>
    attribute: str  # of a layer, in the file and in the library
    what: object
    before: float = 1.0
    after: float = 1.0


@dataclass(frozen=True)
class Step:
    norm: str
    parts: tuple
    factor: float = 1.0


@dataclass(frozen=True)
class Plan:
    hidden: int
    vocab: int
    eps: float
    tied: bool
    body: str  # prefix of layers, embedding and final norm in the file
    embedding: str
    final_norm: str
    kinds: str  # a letter per layer, as Case.kinds
    layers: tuple  # of tuples of steps
    embedding_factor: float = 1.0
    head_factor: float = 1.0

    def parts(self, layer):
        """(label, attribute) of the parts of a layer."""
        return [(part.label, part.attribute) for step in self.layers[layer] for part in step.parts]


LETTERS = {"mamba": "M", "linear_attention": "M", "attention": "*", "full_attention": "*", "mlp": "-",
           "moe": "E"}


def letters(names):
    """The letters of a list of layer kinds, in the spelling of released files or of 5.x."""
    return "".join(LETTERS[name] for name in names)


def step_limit(config):
    limit = config.get("time_step_limit")
    return tuple(limit) if limit else (0.0, math.inf)


def rope_theta(config, default=10000.0):
    """5.x keeps it in rope_parameters."""
    return (config.get("rope_parameters") or {}).get("rope_theta", config.get("rope_theta", default))


def mamba_prefixed(config, width, **options):
    """The mixer of the three families whose keys start with mamba_."""
    heads, head_dim = config["mamba_n_heads"], config.get("mamba_d_head", "auto")
    bias = config.get("mamba_proj_bias", False)
    settings = {"gate": "before", "norm_groups": 1, "out_bias": bias, **options}
    return Mixer(heads=heads, head_dim=width // heads if head_dim == "auto" else head_dim,
                 state=config.get("mamba_d_state", 256), groups=config.get("mamba_n_groups", 1),
                 taps=config.get("mamba_d_conv", 4),
                 conv_bias=config.get("mamba_conv_bias", True), in_bias=bias, limit=step_limit(config),
                 **settings)


def common(config, kinds, layers, **names):
    """A plan with what every family spells alike."""
    return Plan(hidden=config["hidden_size"], vocab=config["vocab_size"], kinds=kinds, layers=layers, **names)


def granite(config):
    kinds = config.get("layer_types") or config.get("layers_block_type")
    kinds = letters(kinds or ["mamba"] * config["num_hidden_layers"])
    hidden, heads = config["hidden_size"], config.get("num_attention_heads", 32)
    head_dim = config.get("head_dim") or hidden // heads
    rotated = head_dim if config.get("position_embedding_type") == "rope" else 0
    attention = Attention(heads, config.get("num_key_value_heads") or heads, head_dim,
                          config.get("attention_multiplier", 1.0), rotated, rope_theta(config),
                          config.get("attention_bias", False))
    mixer = mamba_prefixed(config, config.get("mamba_expand", 2) * hidden)
    first = {"M": Part("mamba", "mamba", mixer), "*": Part("attention", "self_attn", attention)}
    after = [Part("mlp", "shared_mlp", JoinedMlp(config.get("shared_intermediate_size", 1024)))]
    if count := config.get("num_local_experts", 8):
        experts = JoinedExperts(count, config.get("num_experts_per_tok", 2),
                                config.get("intermediate_size", 11008))
        after.append(Part("moe", "block_sparse_moe", experts))
    factor = config.get("residual_multiplier", 1.0)
    layers = tuple((Step("input_layernorm", (first[kind],), factor),
                    Step("post_attention_layernorm", tuple(after), factor)) for kind in kinds)
    return common(config, kinds, layers, eps=config.get("rms_norm_eps", 1e-6),
                  tied=config.get("tie_word_embeddings", False), body="model", embedding="embed_tokens",
                  final_norm="norm", embedding_factor=config.get("embedding_multiplier", 1.0),
                  head_factor=1.0 / config.get("logits_scaling", 1.0))


def bamba(config):
    attended = config.get("attn_layer_indices") or ()
    kinds = "".join("*" if j in attended else "M" for j in range(config["num_hidden_layers"]))
    hidden, heads = config["hidden_size"], config.get("num_attention_heads", 32)
    head_dim = config.get("head_dim") or hidden // heads
    attention = Attention(heads, config.get("num_key_value_heads", 8), head_dim, head_dim ** -0.5,
                          head_dim // 2, rope_theta(config), config.get("attention_bias", False))
    mixer = mamba_prefixed(config, config.get("mamba_expand", 2) * hidden)
    first = {"M": Part("mamba", "mamba", mixer), "*": Part("attention", "self_attn", attention)}
    mlp = GatedMlp(config.get("intermediate_size", 14336), config.get("mlp_bias", False))
    layers = tuple((Step("input_layernorm", (first[kind],)),
                    Step("pre_ff_layernorm", (Part("mlp", "feed_forward", mlp),))) for kind in kinds)
    return common(config, kinds, layers, eps=config.get("rms_norm_eps", 1e-5),
                  tied=config.get("tie_word_embeddings", False), body="model", embedding="embed_tokens",
                  final_norm="final_layernorm")


def falcon(config):
    kinds = "H" * config["num_hidden_layers"]
    hidden, heads = config["hidden_size"], config.get("num_attention_heads", 32)
    head_dim = config.get("head_dim") or hidden // heads
    attention = Attention(heads, config.get("num_key_value_heads", 8), head_dim, head_dim ** -0.5, head_dim,
                          rope_theta(config), config.get("attention_bias", False),
                          config.get("key_multiplier", 1.0))
    normed, after = config.get("mamba_rms_norm", False), config.get("mamba_norm_before_gate", True)
    mixer = mamba_prefixed(config, config.get("mamba_d_ssm", 1024) or config.get("mamba_expand", 2) * hidden,
                           gate=("after" if after else "before") if normed else "alone",
                           norm_groups=config.get("mamba_n_groups", 1),
                           out_bias=config.get("projectors_bias", False),
                           rows=tuple(config.get("ssm_multipliers") or (1.0,) * 5))
    mlp = GatedMlp(config.get("intermediate_size", 14336), config.get("mlp_bias", False),
                   *(config.get("mlp_multipliers") or (1.0, 1.0)))
    side_by_side = (
        Part("mamba", "mamba", mixer, config.get("ssm_in_multiplier", 1.0),
             config.get("ssm_out_multiplier", 1.0)),
        Part("attention", "self_attn", attention, config.get("attention_in_multiplier", 1.0),
             config.get("attention_out_multiplier", 1.0)))
    layers = tuple((Step("input_layernorm", side_by_side),
                    Step("pre_ff_layernorm", (Part("mlp", "feed_forward", mlp),))) for _ in kinds)
    return common(config, kinds, layers, eps=config.get("rms_norm_eps", 1e-5),
                  tied=config.get("tie_word_embeddings", False), body="model", embedding="embed_tokens",
                  final_norm="final_layernorm", embedding_factor=config.get("embedding_multiplier", 1.0),
                  head_factor=config.get("lm_head_multiplier", 1.0))


def nemotron(config):
    named = config.get("layers_block_type")
    kinds = letters(named) if named else config["hybrid_override_pattern"]
    head_dim = config.get("head_dim", 128)
    groups, bias = config.get("n_groups", 8), config.get("use_bias", False)
    mlp_bias = config.get("mlp_bias", False)
    mixer = Mixer(heads=config.get("mamba_num_heads", 128), head_dim=config.get("mamba_head_dim", 64),
                  state=config.get("ssm_state_size", 128), groups=groups, taps=config.get("conv_kernel", 4),
                  conv_bias=config.get("use_conv_bias", True), in_bias=bias, out_bias=bias, gate="before",
                  norm_groups=groups, limit=step_limit(config))
    attention = Attention(config.get("num_attention_heads", 32), config.get("num_key_value_heads", 8),
                          head_dim, head_dim ** -0.5, 0, 0.0, False)
    experts = SquaredExperts(
        count=config.get("n_routed_experts", 8), chosen=config.get("num_experts_per_tok", 2),
        width=config.get("moe_intermediate_size", 7688),
        shared_width=config.get("moe_shared_expert_intermediate_size", 7688),
        latent=config.get("moe_latent_size"), groups=config.get("n_group", 1),
        kept_groups=config.get("topk_group", 1), normalise=config.get("norm_topk_prob", True),
        scaling=config.get("routed_scaling_factor", 1.0), bias=mlp_bias)
    parts = {"M": Part("mamba", "mixer", mixer), "*": Part("attention", "mixer", attention),
             "-": Part("mlp", "mixer", SquaredMlp(config.get("intermediate_size", 21504), mlp_bias)),
             "E": Part("moe", "mixer", experts)}
    return common(config, kinds, tuple((Step("norm", (parts[kind],)),) for kind in kinds),
                  eps=config.get("layer_norm_epsilon", 1e-5), tied=False, body="backbone",
                  embedding="embeddings", final_norm="norm_f")
