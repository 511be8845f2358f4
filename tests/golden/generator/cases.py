"""The committed cases: sizes, layout and storage of each, as `make` needs them. No results here."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Case:
    """One case. `config` overrides what the library's config class has as default."""

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
    debug: bool = False  # also store the inside of layer 0
    config: dict = field(default_factory=dict)


def zamba2_layers(letters):
    return ["hybrid" if letter == "H" else "mamba" for letter in letters]


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
]


def find(name):
    """The case of that name; ValueError names those there are."""
    for case in CASES:
        if case.name == name:
            return case
    raise ValueError(f"no case {name}; there are " + ", ".join(case.name for case in CASES))


def variant(case, name, **changes):
    """A case of the same form under another name, with the given fields changed (None: as they are)."""
    return replace(case, name=name, **{key: value for key, value in changes.items() if value is not None})
