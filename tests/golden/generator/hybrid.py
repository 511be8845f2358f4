"""A plan in torch, in any precision: the formulas of the hybrid families, written without the library.
Modules and parameters are named as in the files of a case, so state_dict() is the file. Gradients come from
autograd."""

import torch
from torch import nn
from torch.nn import functional

from . import plans
from .scan import scan, scan_inputs


def rms(v, weight, eps, groups=1):
    """Each of `groups` equal runs of channels is normed by itself."""
    parts = v.unflatten(-1, (groups, -1))
    return (parts / (parts.square().mean(-1, keepdim=True) + eps).sqrt()).flatten(-2) * weight


class Norm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.empty(width)), eps

    def forward(self, v):
        return rms(v, self.weight, self.eps)


class GatedNorm(nn.Module):
    def __init__(self, width, eps, order, groups):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.empty(width)), eps
        self.order, self.groups = order, groups

    def forward(self, y, z):
        if self.order == "before":
            return rms(y * functional.silu(z), self.weight, self.eps, self.groups)
        return rms(y, self.weight, self.eps, self.groups) * functional.silu(z)


class Mixer(nn.Module):
    """Sizes under the names that the library's mixers have, which scan.py and quantities.py read."""

    def __init__(self, spec, hidden, eps):
        super().__init__()
        self.num_heads, self.n_groups, self.ssm_state_size = spec.heads, spec.groups, spec.state
        self.intermediate_size = width = spec.heads * spec.head_dim
        self.time_step_limit = spec.limit
        pool = spec.groups * spec.state
        blocks = (width, width, pool, pool, spec.heads)
        factors = [torch.full((size,), factor, dtype=torch.float64)
                   for size, factor in zip(blocks, spec.rows)]
        self.register_buffer("mup_vector", torch.cat(factors), persistent=False)
        self.in_proj = nn.Linear(hidden, sum(blocks), bias=spec.in_bias)
        channels = width + 2 * pool
        self.conv1d = nn.Conv1d(channels, channels, spec.taps, groups=channels, bias=spec.conv_bias)
        self.dt_bias, self.A_log, self.D = (nn.Parameter(torch.empty(spec.heads)) for _ in range(3))
        self.norm = None if spec.gate == "alone" else GatedNorm(width, eps, spec.gate, spec.norm_groups)
        self.out_proj = nn.Linear(width, hidden, bias=spec.out_bias)
        self.final_state = None  # after the last token of the last call

    def forward(self, u):
        projected = self.in_proj(u) * self.mup_vector
        outputs = []
        for self.final_state, output in scan(self, *scan_inputs(self, projected, self.time_step_limit)):
            outputs.append(output)
        y, z = torch.stack(outputs, dim=1).flatten(2), projected[..., :self.intermediate_size]
        return self.out_proj(y * functional.silu(z) if self.norm is None else self.norm(y, z))


class Attention(nn.Module):
    def __init__(self, spec, hidden, eps):
        super().__init__()
        self.spec = spec
        self.q_proj = nn.Linear(hidden, spec.heads * spec.head_dim, bias=spec.bias)
        self.k_proj = nn.Linear(hidden, spec.kv_heads * spec.head_dim, bias=spec.bias)
        self.v_proj = nn.Linear(hidden, spec.kv_heads * spec.head_dim, bias=spec.bias)
        self.o_proj = nn.Linear(spec.heads * spec.head_dim, hidden, bias=spec.bias)

    def rotate(self, v):
        """RoPE on (B,heads,L,d): channels i and i + width/2 turn by t * theta^(-2i/width)."""
        width = self.spec.rotated
        if not width:
            return v
        speed = self.spec.theta ** (torch.arange(width // 2, dtype=torch.float64) * -2 / width)
        angle = torch.arange(v.shape[2], dtype=torch.float64)[:, None] * speed
        cos, sin = angle.cos().to(v.dtype), angle.sin().to(v.dtype)
        left, right, rest = v.split([width // 2, width // 2, v.shape[-1] - width], dim=-1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin, rest], dim=-1)

    def forward(self, x):
        heads = lambda v: v.unflatten(-1, (-1, self.spec.head_dim)).transpose(1, 2)
        shared = self.spec.heads // self.spec.kv_heads
        q = self.rotate(heads(self.q_proj(x)))
        k = self.rotate(heads(self.spec.key_factor * self.k_proj(x))).repeat_interleave(shared, dim=1)
        v = heads(self.v_proj(x)).repeat_interleave(shared, dim=1)
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        scores = (self.spec.scale * q @ k.transpose(2, 3)).masked_fill(future, -torch.inf)
        return self.o_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class GatedMlp(nn.Module):
    def __init__(self, spec, hidden, eps):
        super().__init__()
        self.spec = spec
        self.gate_proj = nn.Linear(hidden, spec.width, bias=spec.bias)
        self.up_proj = nn.Linear(hidden, spec.width, bias=spec.bias)
        self.down_proj = nn.Linear(spec.width, hidden, bias=spec.bias)

    def forward(self, x):
        gate = functional.silu(self.spec.gate_factor * self.gate_proj(x))
        return self.spec.down_factor * self.down_proj(self.up_proj(x) * gate)


def joined(projected):
    gate, up = projected.chunk(2, dim=-1)
    return functional.silu(gate) * up


class JoinedMlp(nn.Module):
    def __init__(self, spec, hidden, eps):
        super().__init__()
        self.input_linear = nn.Linear(hidden, 2 * spec.width, bias=False)
        self.output_linear = nn.Linear(spec.width, hidden, bias=False)

    def forward(self, x):
        return self.output_linear(joined(self.input_linear(x)))


class SquaredMlp(nn.Module):
    def __init__(self, spec, hidden, eps):
        super().__init__()
        self.up_proj = nn.Linear(hidden, spec.width, bias=spec.bias)
        self.down_proj = nn.Linear(spec.width, hidden, bias=spec.bias)

    def forward(self, x):
        return self.down_proj(functional.relu(self.up_proj(x)).square())


class Chooser:
    """The highest scores of every row, lower indices first in a tie. Keeps how close a call there was: the
    smallest distance of a chosen score from a rejected one."""

    def __init__(self):
        self.gap = torch.inf

    def __call__(self, scores, count):
        values, order = scores.detach().sort(dim=-1, descending=True, stable=True)
        if count < scores.shape[-1]:
            self.gap = min(self.gap, (values[..., count - 1] - values[..., count]).min().item())
        return order[..., :count]


class Stack(nn.Module):
    """One tensor with a matrix per expert."""

    def __init__(self, *shape):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape))


class Router(nn.Module):
    def __init__(self, hidden, count):
        super().__init__()
        self.layer = nn.Linear(hidden, count, bias=False)


class JoinedExperts(nn.Module):
    def __init__(self, spec, hidden, eps):
        super().__init__()
        self.spec, self.choose = spec, Chooser()
        self.router = Router(hidden, spec.count)
        self.input_linear = Stack(spec.count, 2 * spec.width, hidden)
        self.output_linear = Stack(spec.count, hidden, spec.width)

    def forward(self, x):
        logits = self.router.layer(x)
        chosen = self.choose(logits, self.spec.chosen)
        weights = logits.gather(-1, chosen).softmax(-1)
        weights = torch.zeros_like(logits).scatter(-1, chosen, weights)  # 0 for the rest
        inner = joined(torch.einsum("...m,efm->...ef", x, self.input_linear.weight))
        return torch.einsum("...e,...ef,emf->...m", weights, inner, self.output_linear.weight)


class CorrectedRouter(nn.Module):
    def __init__(self, spec, hidden):
        super().__init__()
        self.spec, self.choose, self.choose_groups = spec, Chooser(), Chooser()
        self.weight = nn.Parameter(torch.empty(spec.count, hidden))
        self.e_score_correction_bias = nn.Parameter(torch.empty(spec.count))

    def forward(self, x):
        """A weight for every expert, 0 for those not chosen."""
        spec = self.spec
        scores = functional.linear(x, self.weight).sigmoid()
        corrected = scores + self.e_score_correction_bias
        if spec.groups > 1:
            grouped = corrected.unflatten(-1, (spec.groups, -1))
            best = self.choose_groups(grouped.topk(2, dim=-1).values.sum(-1), spec.kept_groups)
            left = torch.zeros_like(grouped[..., 0]).scatter(-1, best, 1.0).bool()
            corrected = grouped.masked_fill(~left[..., None], -torch.inf).flatten(-2)
        chosen = self.choose(corrected, spec.chosen)
        weights = scores.gather(-1, chosen)
        if spec.normalise:
            weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
        return torch.zeros_like(scores).scatter(-1, chosen, spec.scaling * weights)


class SquaredExperts(nn.Module):
    def __init__(self, spec, hidden, eps):
        super().__init__()
        inner = spec.latent or hidden
        expert = plans.SquaredMlp(spec.width, False)
        self.gate = CorrectedRouter(spec, hidden)
        self.experts = nn.ModuleList(SquaredMlp(expert, inner, eps) for _ in range(spec.count))
        self.shared_experts = SquaredMlp(plans.SquaredMlp(spec.shared_width, spec.bias), hidden, eps)
        latent = spec.latent is not None
        self.fc1_latent_proj = nn.Linear(hidden, inner, bias=spec.bias) if latent else nn.Identity()
        self.fc2_latent_proj = nn.Linear(inner, hidden, bias=spec.bias) if latent else nn.Identity()

    def forward(self, x):
        weights, inner = self.gate(x), self.fc1_latent_proj(x)
        routed = sum(weights[..., e, None] * expert(inner) for e, expert in enumerate(self.experts))
        return self.fc2_latent_proj(routed) + self.shared_experts(x)


MODULES = {plans.Mixer: Mixer, plans.Attention: Attention, plans.GatedMlp: GatedMlp,
           plans.JoinedMlp: JoinedMlp, plans.SquaredMlp: SquaredMlp, plans.JoinedExperts: JoinedExperts,
           plans.SquaredExperts: SquaredExperts}


class Layer(nn.Module):
    def __init__(self, steps, hidden, eps, index):
        super().__init__()
        self.steps = steps
        for step in steps:
            setattr(self, step.norm, Norm(hidden, eps))
            for part in step.parts:
                module = MODULES[type(part.what)](part.what, hidden, eps)
                module.layer_idx = index
                setattr(self, part.attribute, module)

    def forward(self, h):
        for step in self.steps:
            u = getattr(self, step.norm)(h)
            outputs = [part.after * getattr(self, part.attribute)(part.before * u) for part in step.parts]
            h = h + step.factor * sum(outputs)
        return h


class Body(nn.Module):
    def __init__(self, plan):
        super().__init__()
        self.plan = plan
        setattr(self, plan.embedding, nn.Embedding(plan.vocab, plan.hidden))
        self.layers = nn.ModuleList(Layer(steps, plan.hidden, plan.eps, index)
                                    for index, steps in enumerate(plan.layers))
        setattr(self, plan.final_norm, Norm(plan.hidden, plan.eps))

    def forward(self, ids):
        h = self.plan.embedding_factor * getattr(self, self.plan.embedding)(ids)
        for layer in self.layers:
            h = layer(h)
        return getattr(self, self.plan.final_norm)(h)


class Model(nn.Module):
    """Called as the library's models are; `logits` is all its result holds."""

    def __init__(self, plan):
        super().__init__()
        self.plan = plan
        setattr(self, plan.body, Body(plan))
        if not plan.tied:
            self.lm_head = nn.Linear(plan.hidden, plan.vocab, bias=False)

    def forward(self, input_ids, **_):
        body = getattr(self, self.plan.body)
        embedding = getattr(body, self.plan.embedding)
        head = embedding.weight if self.plan.tied else self.lm_head.weight
        return Output(self.plan.head_factor * functional.linear(body(input_ids), head))

    def routing_gap(self):
        """The closest call of any choice of experts so far; infinite without experts."""
        gaps = [chooser.gap for module in self.modules() for chooser in vars(module).values()
                if isinstance(chooser, Chooser)]
        return min(gaps, default=torch.inf)


class Output:
    def __init__(self, logits):
        self.logits = logits
