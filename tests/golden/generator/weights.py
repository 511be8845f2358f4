"""Seeded random weights that behave like trained ones: lively states, saliencies that spread, no two heads
alike."""

import math


SHARP = ("q_proj", "k_proj", "router", "mixer.gate")  # of hybrids: attention and routing should decide
WIDE = ("e_score_correction_bias",)  # float32 in files of any type


def random_weights(model, case, seed, embedding_factor=1.0, head_factor=1.0):
    """name -> tensor for every parameter the file of a case holds (shared ones once), and the tokens. The
    same seed gives the same values: parameters are drawn in the order of their names. The model multiplies
    embedding and logits by the factors; the weights make up for it."""
    import numpy as np
    import torch

    rng = np.random.default_rng(seed)
    weights = {}
    for name, parameter in sorted(model.named_parameters()):
        values = draw(name, parameter.shape, case, rng, embedding_factor, head_factor)
        weights[name] = torch.from_numpy(values).float().contiguous()
    for name in [name for name in weights if name.endswith("in_proj.weight")]:
        shape_state_rows(weights, name.removesuffix("in_proj.weight"), case, rng)
    ids = torch.from_numpy(rng.integers(0, case.vocab, (case.batch, case.length)))
    return weights, ids


def stored_weights(weights, dtype):
    """In the type that files hold."""
    return {name: tensor if name.endswith(WIDE) else tensor.to(dtype) for name, tensor in weights.items()}


def draw(name, shape, case, rng, embedding_factor, head_factor):
    import numpy as np

    normal = rng.standard_normal(tuple(shape))
    if name.endswith("A_log"):
        return np.log(rng.uniform(1.0, 16.0, tuple(shape)))
    if name.endswith("dt_bias"):  # softplus of it is log-uniform between 0.001 and 0.1
        step = math.e ** rng.uniform(math.log(1e-3), math.log(1e-1), tuple(shape))
        return step + np.log(-np.expm1(-step))
    if name.endswith(".D") or (len(shape) == 1 and "norm" in name):
        return 1.0 + 0.2 * normal
    if len(shape) == 1:  # biases
        return 0.2 * normal
    if "embed" in name and not case.tied:
        return 0.7 / embedding_factor * normal
    if "embed" in name or name == "lm_head.weight":
        return 2.0 / head_factor / math.sqrt(shape[1]) * normal
    sharp = 1.5 if any(part in name for part in SHARP) and case.kinds else 1.0
    return sharp * normal / math.sqrt(shape[-1])  # the fan-in: 4 taps of a filter, too


def shape_state_rows(weights, prefix, case, rng):
    """B and C rows get a log-normal factor per channel; in dead channels C is zero whatever comes in."""
    width, pool = case.heads * case.head_dim, case.groups * case.state
    in_proj = weights[prefix + "in_proj.weight"]
    factors = rng.lognormal(0.0, 0.8, 2 * pool)
    in_proj[2 * width:2 * width + 2 * pool] *= in_proj.new_tensor(factors)[:, None]
    dead = rng.permutation(pool)[:int(case.dead * pool)]
    in_proj[2 * width + pool + dead] = 0.0
    weights[prefix + "conv1d.weight"][width + pool + dead] = 0.0
    for bias, offset in (("in_proj.bias", 2 * width), ("conv1d.bias", width)):
        if prefix + bias in weights:
            weights[prefix + bias][offset + pool + dead] = 0.0
