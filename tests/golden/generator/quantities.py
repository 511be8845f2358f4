"""Everything in expected.safetensors, computed from a case's configuration, weights and tokens."""

import math
from dataclasses import dataclass

from .reference import LIBRARY, Reference
from .scan import scan, spread

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
    c_heads = spread(c, heads)
    s = p = torch.zeros(heads, b.shape[3], dtype=torch.float64)
    outputs = []
    for t, (state, output) in enumerate(scan(mixer, x, b, c, dt)):
        outputs.append(output)
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


@dataclass
class Pruned:
    """A sequential run."""

    scores: dict  # by layer
    masks: dict
    margin: float  # the smallest of any mask, ties of dead channels aside
    gap: float  # the closest choice of experts in any pass
    logits: object


def prune(config, weights, ids, sparsity, precise, source=LIBRARY):
    """Algorithm 1."""
    import torch

    reference = Reference(config, weights, ids, precise, source)
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
    return Pruned(scores, masks, min(margins, default=math.inf), reference.routing_gap(), logits)


def check_silent(reference, record, masks):
    """A dropped channel has no energy at all, not little."""
    for layer, mask in masks.items():
        energies = scan_energies(reference, layer, record)
        for sums in (energies.s, energies.p, energies.q):
            if bool((sums[mask == 0] != 0).any()):
                raise AssertionError(f"layer {layer}: a dropped channel still moves")


def dense(config, weights, ids, precise, debug, source):
    """The dense model: logits, hidden and final states, energies."""
    import torch

    reference = Reference(config, weights, ids, precise, source)
    record, out = {}, {}
    with torch.no_grad(), reference.watch(record):
        result, states = reference.prefill()
        out["logits"] = result.logits
        for (layer, what), value in record.items():
            if what == "hidden":
                out[f"hidden.{layer}"] = value
        for layer in reference.mixers:
            energies = scan_energies(reference, layer, record)
            out[f"ssm_state.{layer}"] = states[layer]
            out.update({f"ghost.{key}.{layer}": getattr(energies, key.lower()) for key in "SPQ"})
    if debug:
        out.update(inside(reference, record, min(reference.mixers)))
    return out


def inside(reference, record, layer):
    """debug.*: the steps of one mixer, and what each part of hybrid layers returns."""
    x, b, c, dt = reference.scan_inputs(layer, record)
    steps = {"B": b, "C": c, "dt": dt, "y": scan_energies(reference, layer, record).y,
             "gated": record[layer, "gated"]}
    if reference.plan is None:
        steps["x"] = x.flatten(2)
        steps.update({key: record[layer, key] for key in ("u", "in_proj", "out")})
        return {f"debug.{layer}.{key}": value for key, value in steps.items()}
    out = {f"debug.{layer}.{key}": value for key, value in steps.items()}
    for j in range(len(reference.plan.kinds)):
        out.update({f"debug.{j}.{label}": record[j, label] for label, _ in reference.plan.parts(j)})
    return out


def gradients(config, weights, ids, precise, source):
    """taylor.*: the mean loss over all sequences, and its gradient for what pruning touches."""
    import torch

    reference = Reference(config, weights, ids, precise, source)
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


def grouped(config, weights, ids, precise, source):
    """grouped.*: the dense model with the gated norm taken per group. Nothing where the family does so
    anyway, or there is one group."""
    import torch

    reference = Reference(config, weights, ids, precise, source)
    if not reference.family.whole_norm or all(mixer.n_groups == 1 for _, mixer in reference.mixers.values()):
        return {}
    reference.group_norms()
    record = {}
    with torch.no_grad(), reference.watch(record):
        out = {"grouped.logits": reference.forward().logits}
        for layer in reference.mixers:
            out[f"grouped.S.{layer}"] = scan_energies(reference, layer, record).s
    return out


def floored(config, weights, ids, precise, source):
    """floored.logits: the dense model with time_step_min as the floor of the step size, and no other limit.
    Nothing where the library follows the configuration."""
    import torch

    reference = Reference(config, weights, ids, precise, source)
    if not reference.family.also_floored:
        return {}
    reference.limit_steps((config.get("time_step_min", 0.001), math.inf))
    with torch.no_grad():
        return {"floored.logits": reference.forward().logits}


@dataclass
class Result:
    tensors: dict  # by the names in expected.safetensors, in the precision computed in
    margin: float  # smallest distance of any mask from another one
    gap: float  # closest choice of experts; infinite where nobody counts it
    decode: float | None  # largest difference of cached decoding from the whole sequence, in logits


def compute(config, weights, ids, precise=False, debug=False, source=LIBRARY):
    """All of expected.safetensors but input_ids."""
    import torch

    out = dense(config, weights, ids, precise, debug, source)
    margins, gaps = [], []
    for prefix, sparsity in SPARSITIES.items():
        run = prune(config, weights, ids, sparsity, precise, source)
        margins.append(run.margin)
        gaps.append(run.gap)
        out.update({f"{prefix}.mask.{layer}": mask for layer, mask in run.masks.items()})
        if prefix == "ghost":
            out.update({f"ghost.seq.S.{layer}": s for layer, s in run.scores.items()})
            out["ghost.logits"] = run.logits
    for more in (gradients, grouped, floored):
        out.update(more(config, weights, ids, precise, source))
    reference, decode = Reference(config, weights, ids, precise, source), None
    if reference.family.decodes:
        with torch.no_grad():
            decode = (reference.decode() - out["logits"]).abs().max().item()
    return Result(out, min(margins), min(gaps), decode)


def stored(tensors, ids):
    """As they go into the file: sums, loss in float64, masks in bytes, the rest in float32."""
    import torch

    wide = ("ghost.S", "ghost.P", "ghost.Q", "ghost.seq", "grouped.S", "taylor.loss")
    out = {"input_ids": ids}
    for name, tensor in tensors.items():
        keep = name.startswith(wide) or tensor.dtype == torch.uint8
        out[name] = (tensor if keep else tensor.float()).detach().contiguous()
    return out
