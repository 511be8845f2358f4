"""The committed cases: sizes, layout and storage of each, as `make` needs them. No results here."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Case:
    """One case. `config` overrides what the library's config class has as default; for hybrids it uses the
    keys of released files, whatever the style."""

    name: str
    family: str  # a key of families.FAMILIES
    seed: int  # where the search for a seed starts
    batch: int
    length: int
    hidden: int
    heads: int
    head_dim: int
    state: int
    groups: int
    layers: int
    chunk: int
    vocab: int = 256
    layout: str = "huggingface"  # or state-spaces
    dtype: str = "f32"  # f32, bf16, f16: how weights are stored
    style: str = "4.57"  # of config.json; or 5.x, or converted (without architectures and dtype)
    shards: int = 1
    tied: bool = False
    dead: float = 0.0  # share of state channels whose C is zero for every input
    debug: bool = False  # also store the inside of the first mixer, and every part of a hybrid
    kinds: str = ""  # hybrids: a letter per layer, M mixer, * attention, - MLP, E experts, H both in parallel
    config: dict = field(default_factory=dict)
    omit: tuple = ()  # hybrids: keys that config.json does not have, so that its reader takes the default


def zamba2_layers(letters):
    return ["hybrid" if letter == "H" else "mamba" for letter in letters]


# Factors that keep a tiny Falcon-H1 lively; every one differs from 1.
FALCON_FACTORS = {"embedding_multiplier": 5.656854249492381, "lm_head_multiplier": 0.3125,
                  "key_multiplier": 0.78125, "attention_in_multiplier": 1.5,
                  "attention_out_multiplier": 0.9375, "ssm_in_multiplier": 1.25,
                  "ssm_out_multiplier": 0.7071067811865476,
                  "ssm_multipliers": [0.7071067811865476, 1.25, 0.8838834764831844, 1.5,
                                      0.35355339059327373],
                  "mlp_multipliers": [0.8838834764831844, 0.5859375]}
FALCON = {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 40,
          "rope_theta": 1e11, "mamba_norm_before_gate": False, **FALCON_FACTORS}
GRANITE = {"num_attention_heads": 4, "num_key_value_heads": 2, "position_embedding_type": "nope",
           "rms_norm_eps": 1e-5}
NEMOTRON = {"num_attention_heads": 4, "num_key_value_heads": 2}

CASES = [
    Case("m2_g1_n16_tied", "mamba2", 11, batch=3, length=37, hidden=32, heads=4, head_dim=16, state=16,
         groups=1, layers=2, chunk=16, tied=True, style="converted", debug=True),
    Case("m2_g2_n64_bias_dtlimit", "mamba2", 12, batch=1, length=130, hidden=64, heads=2, head_dim=64,
         state=64, groups=2, layers=3, chunk=64, vocab=320,
         config={"use_bias": True, "time_step_limit": [0.005, 0.08]}),
    Case("m2_g8_n64_noconvbias_sharded", "mamba2", 413, batch=1, length=75, hidden=64, heads=8, head_dim=16,
         state=64, groups=8, layers=2, chunk=32, shards=2,
         config={"use_conv_bias": False, "residual_in_fp32": False}),
    Case("m2_g1_n128_bf16", "mamba2", 14, batch=1, length=300, hidden=64, heads=2, head_dim=64, state=128,
         groups=1, layers=4, chunk=256, dtype="bf16", tied=True),
    Case("m2_g2_n32_dead_v5", "mamba2", 15, batch=1, length=50, hidden=32, heads=4, head_dim=16, state=32,
         groups=2, layers=2, chunk=16, style="5.x", dead=2 / 3),
    Case("z2_g1_mem1_adapter_rope", "zamba2", 316, batch=3, length=37, hidden=32, heads=4, head_dim=16,
         state=64, groups=1, layers=5, chunk=16, tied=True,
         config={"layers_block_type": zamba2_layers("MHMHM"), "num_mem_blocks": 1, "adapter_rank": 8,
                 "intermediate_size": 64, "num_attention_heads": 4, "use_shared_attention_adapter": True,
                 "use_mem_rope": True}),
    Case("z2_g2_mem2", "zamba2", 17, batch=1, length=130, hidden=64, heads=4, head_dim=32, state=16,
         groups=2, layers=6, chunk=64, tied=True,
         config={"layers_block_type": zamba2_layers("MMHMHH"), "num_mem_blocks": 2, "adapter_rank": 8,
                 "intermediate_size": 96, "num_attention_heads": 4, "use_shared_attention_adapter": False,
                 "use_mem_rope": False}),
    Case("ss_orig_f16", "mamba2", 218, batch=1, length=100, hidden=64, heads=2, head_dim=64, state=128,
         groups=1, layers=2, chunk=256, vocab=277, layout="state-spaces", dtype="f16", tied=True),
    Case("gr_dense_g1_n16", "granitemoehybrid", 31, batch=2, length=21, hidden=24, heads=4, head_dim=12,
         state=16, groups=1, layers=4, chunk=8, vocab=80, tied=True, debug=True, kinds="MM*M",
         config={**GRANITE, "attention_multiplier": 0.0625, "embedding_multiplier": 4,
                 "residual_multiplier": 0.6, "logits_scaling": 0.4, "shared_intermediate_size": 40,
                 "intermediate_size": 40, "num_local_experts": 0, "num_experts_per_tok": 0}),
    Case("gr_moe6_g1_n32", "granitemoehybrid", 232, batch=1, length=37, hidden=24, heads=6, head_dim=8,
         state=32, groups=1, layers=3, chunk=16, vocab=80, debug=True, kinds="M*M",
         config={**GRANITE, "attention_multiplier": 0.125, "embedding_multiplier": 12,
                 "residual_multiplier": 0.45, "logits_scaling": 3, "shared_intermediate_size": 20,
                 "intermediate_size": 12, "num_local_experts": 6, "num_experts_per_tok": 2}),
    Case("nh_mlp_g2_n16", "nemotron_h", 33, batch=2, length=21, hidden=24, heads=4, head_dim=10, state=16,
         groups=2, layers=7, chunk=8, vocab=80, debug=True, kinds="M-M*-M-",
         config={**NEMOTRON, "head_dim": 8, "intermediate_size": 56}),
    Case("nh_moe8_g4_n16", "nemotron_h", 1034, batch=1, length=37, hidden=24, heads=8, head_dim=4, state=16,
         groups=4, layers=6, chunk=16, vocab=64, debug=True, kinds="MEM*EM",
         config={**NEMOTRON, "head_dim": 8, "intermediate_size": 24, "moe_intermediate_size": 12,
                 "moe_shared_expert_intermediate_size": 20, "n_routed_experts": 8, "n_shared_experts": 1,
                 "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "norm_topk_prob": True,
                 "routed_scaling_factor": 2.5}),
    Case("fh_plain_g1_n32", "falcon_h1", 35, batch=2, length=21, hidden=24, heads=6, head_dim=6, state=32,
         groups=1, layers=3, chunk=8, vocab=80, debug=True, kinds="HHH",
         config={**FALCON, "head_dim": 8, "mamba_rms_norm": False}),
    Case("fh_norm_g2_n16", "falcon_h1", 36, batch=1, length=37, hidden=24, heads=4, head_dim=12, state=16,
         groups=2, layers=3, chunk=16, vocab=80, debug=True, kinds="HHH",
         config={**FALCON, "head_dim": 8, "mamba_rms_norm": True}),
    Case("bb_g1_n32", "bamba", 37, batch=1, length=37, hidden=24, heads=4, head_dim=12, state=32, groups=1,
         layers=4, chunk=16, vocab=64, debug=True, kinds="MM*M",
         config={"num_attention_heads": 3, "num_key_value_heads": 1, "intermediate_size": 40}),
]


def find(name):
    """The case of that name; ValueError names those there are."""
    for case in CASES:
        if case.name == name:
            return case
    raise ValueError(f"no case {name}; there are " + ", ".join(case.name for case in CASES))


def variant(case, name, **changes):
    """A case of the same form under another name, with the given fields changed (None: as they are). Entries
    of `config` are added to those there are; `kinds` says how many layers there are."""
    changes = {key: value for key, value in changes.items() if value is not None}
    changes["config"] = {**case.config, **changes.get("config", {})}
    if "kinds" in changes:
        changes["layers"] = len(changes["kinds"])
    return replace(case, name=name, **changes)
