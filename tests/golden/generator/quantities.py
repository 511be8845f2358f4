"""Everything in expected.safetensors, computed from a case's configuration, weights and tokens."""

import math
from dataclasses import dataclass

from .reference import Reference

SPARSITIES = {"ghost": 0.5, "ghost.k030": 0.3, "ghost.k070": 0.7}  # prefix of the mask tensors -> kappa


@dataclass
class Energies:
    """Raw sums of one mixer, (G, N) in float64, and the scan's output (B, L, R)."""

    s: object
    p: object
    q: object
    y: object


def scan_energies(reference, layer, record):
    """Runs the recurrence token by token on what a watched pass left: the state after every token in the
    model's type, sums in float64."""
    import torch

    x, b, c, dt = reference.scan_inputs(layer, record)
    _, mixer = reference.mixers[layer]
    heads, groups = dt.shape[-1], b.shape[2]
    decay = torch.exp(dt * -torch.exp(mixer.A_log))
    spread = lambda v: v.repeat_interleave(heads // groups, dim=2)  # head h belongs to group h // K
    b_heads, c_heads = spread(b), spread(c)
    state = torch.zeros(x.shape[0], heads, x.shape[3], b.shape[3], dtype=x.dtype)
    s = p = torch.zeros(heads, b.shape[3], dtype=torch.float64)
    outputs = []
    for t in range(x.shape[1]):
        drive = (dt[:, t, :, None] * x[:, t])[..., None] * b_heads[:, t, :, None, :]
        state = decay[:, t, :, None, None] * state + drive
        outputs.append((state * c_heads[:, t, :, None, :]).sum(-1) + mixer.D[:, None] * x[:, t])
        energy = (state.double() ** 2).sum(2)  # over P: (B, H, N)
        p = p + energy.sum(0)
        s = s + (energy * c_heads[:, t].double() ** 2).sum(0)
    pool = lambda v: v.reshape(groups, heads // groups, -1).sum(1)
    return Energies(pool(s), pool(p), (c.double() ** 2).sum((0, 1)),
                    torch.stack(outputs, dim=1).flatten(2))


def select(scores, sparsity):
    """(kept mask (G, N), margin). The floor(kappa G N) lowest of the pool go, ties by lower index. The margin
    is how far the highest dropped score lies below the lowest kept one, or None when both are zero: a tie of
    dead channels is meant."""
    import torch

    pool = scores.flatten()
    order = torch.sort(pool, stable=True).indices
    count = math.floor(sparsity * pool.numel() + 1e-9)
    mask = torch.ones(pool.numel(), dtype=torch.uint8)
    mask[order[:count]] = 0
    low, high = (pool[order[count - 1]].item(), pool[order[count]].item()) if count else (0.0, 1.0)
    return mask.reshape(scores.shape), (high - low) / high if high > 0 else None


def zero_channels(mixer, mask):
    """Rows of in_proj, filters and biases of the convolution that belong to dropped channels."""
    import torch

    width = mixer.intermediate_size
    dropped = (mask.flatten() == 0).nonzero().flatten()
    with torch.no_grad():
        for offset in (0, mask.numel()):  # B, then C
            mixer.in_proj.weight[2 * width + offset + dropped] = 0
            mixer.conv1d.weight[width + offset + dropped] = 0
            if mixer.conv1d.bias is not None:
                mixer.conv1d.bias[width + offset + dropped] = 0


def prune(config, weights, ids, sparsity, precise):
    """Algorithm 1. Returns scores and masks by layer, the smallest margin outside ties, the pruned logits."""
    import torch

    reference = Reference(config, weights, ids, precise)
    scores, masks, margins, record = {}, {}, [], {}
    with torch.no_grad(), reference.watch(record):
        for layer, (_, mixer) in reference.mixers.items():
            reference.forward()
            scores[layer] = scan_energies(reference, layer, record).s
            masks[layer], margin = select(scores[layer], sparsity)
            margins += [margin] if margin is not None else []
            zero_channels(mixer, masks[layer])
        logits = reference.forward().logits
        check_silent(reference, record, masks)
    return scores, masks, min(margins, default=math.inf), logits


def check_silent(reference, record, masks):
    """A dropped channel has no energy at all, not little."""
    for layer, mask in masks.items():
        energies = scan_energies(reference, layer, record)
        for sums in (energies.s, energies.p, energies.q):
            if bool((sums[mask == 0] != 0).any()):
                raise AssertionError(f"layer {layer}: a dropped channel still moves")


def dense(config, weights, ids, precise, debug):
    """The dense model: logits, hidden and final states, energies."""
    import torch

    reference = Reference(config, weights, ids, precise)
    record, out = {}, {}
    with torch.no_grad(), reference.watch(record):
        result = reference.prefill()
        out["logits"] = result.logits
        for (layer, what), value in record.items():
            if what == "hidden":
                out[f"hidden.{layer}"] = value
        cache = getattr(result, reference.family.cache)
        for layer in reference.mixers:
            energies = scan_energies(reference, layer, record)
            out[f"ssm_state.{layer}"] = cache.ssm_states[layer]
            out.update({f"ghost.{key}.{layer}": getattr(energies, key.lower()) for key in "SPQ"})
    if debug:
        out.update(inside(reference, record, min(reference.mixers)))
    return out


def inside(reference, record, layer):
    """debug.*: every step of one mixer, and what each part of hybrid layers returns."""
    x, b, c, dt = reference.scan_inputs(layer, record)
    steps = {"x": x.flatten(2), "B": b, "C": c, "dt": dt, "y": scan_energies(reference, layer, record).y}
    steps.update({key: record[layer, key] for key in ("u", "in_proj", "gated", "out")})
    out = {f"debug.{layer}.{key}": value for key, value in steps.items()}
    parts = {part for part, _ in reference.family.parts}
    out.update({f"debug.{j}.{what}": value for (j, what), value in record.items() if what in parts})
    return out


def gradients(config, weights, ids, precise):
    """taylor.*: the mean loss over all sequences, and its gradient for what pruning touches."""
    import torch

    reference = Reference(config, weights, ids, precise)
    logits = reference.forward(use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    out = {"taylor.loss": loss.detach().double().reshape(1)}
    for name, mixer in reference.mixers.values():
        parts = {"in_proj.weight": mixer.in_proj.weight, "conv1d.weight": mixer.conv1d.weight,
                 "conv1d.bias": mixer.conv1d.bias}
        out.update({f"taylor.grad.{name}.{part}": parameter.grad for part, parameter in parts.items()
                    if parameter is not None})
    return out


def grouped(config, weights, ids, precise):
    """grouped.*: the dense model with the gated norm taken per group, by the library's class that does so.
    Nothing where the family does so anyway, or there is one group."""
    import torch
    from transformers.models.zamba2.modeling_zamba2 import Zamba2RMSNormGated

    reference = Reference(config, weights, ids, precise)
    if not reference.family.whole_norm or all(mixer.n_groups == 1 for _, mixer in reference.mixers.values()):
        return {}
    for _, mixer in reference.mixers.values():
        width = mixer.intermediate_size
        norm = Zamba2RMSNormGated(width, width // mixer.n_groups, eps=mixer.norm.variance_epsilon)
        norm.weight = mixer.norm.weight
        mixer.norm = norm
    record = {}
    with torch.no_grad(), reference.watch(record):
        out = {"grouped.logits": reference.forward().logits}
        for layer in reference.mixers:
            out[f"grouped.S.{layer}"] = scan_energies(reference, layer, record).s
    return out


@dataclass
class Result:
    tensors: dict  # by the names in expected.safetensors, in the precision computed in
    margin: float  # smallest distance of any mask from another one
    decode: float  # largest difference of cached decoding from the whole sequence, in logits


def compute(config, weights, ids, precise=False, debug=False):
    """All of expected.safetensors but input_ids."""
    import torch

    out = dense(config, weights, ids, precise, debug)
    margins = []
    for prefix, sparsity in SPARSITIES.items():
        scores, masks, margin, logits = prune(config, weights, ids, sparsity, precise)
        margins.append(margin)
        out.update({f"{prefix}.mask.{layer}": mask for layer, mask in masks.items()})
        if prefix == "ghost":
            out.update({f"ghost.seq.S.{layer}": s for layer, s in scores.items()})
            out["ghost.logits"] = logits
    out.update(gradients(config, weights, ids, precise))
    out.update(grouped(config, weights, ids, precise))
    reference = Reference(config, weights, ids, precise)
    with torch.no_grad():
        decode = (reference.decode() - out["logits"]).abs().max().item()
    return Result(out, min(margins), decode)


def stored(tensors, ids):
    """As they go into the file: sums, loss in float64, masks in bytes, the rest in float32."""
    import torch

    wide = ("ghost.S", "ghost.P", "ghost.Q", "ghost.seq", "grouped.S", "taylor.loss")
    out = {"input_ids": ids}
    for name, tensor in tensors.items():
        keep = name.startswith(wide) or tensor.dtype == torch.uint8
        out[name] = (tensor if keep else tensor.float()).detach().contiguous()
    return out
