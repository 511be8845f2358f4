"""The library's model of one case, float32 or widened to float64, and what its mixers see while it runs."""

import contextlib
import math

from . import families


def build(config, weights, precise=False):
    """The library's model with these weights, in evaluation mode. What shares a given tensor is given too."""
    family = families.find(config["model_type"])
    config_class, model_class, _ = family.classes()
    library = config_class.from_dict(dict(config))
    library._attn_implementation = "eager"
    model = model_class(library).eval()
    missing, unknown = model.load_state_dict(weights, strict=False)
    parameters = dict(model.named_parameters(remove_duplicate=False))
    given = {id(parameters[name]) for name in weights if name in parameters}
    absent = [name for name in missing if id(parameters[name]) not in given]
    if absent or unknown:
        raise ValueError(f"weights do not fit: missing {absent}, unknown {unknown}")
    return widen(model) if precise else model


def widen(model):
    """The same weights in float64. Rotary frequencies are computed in float32 by the library: do it again."""
    import torch

    model = model.double()
    for module in model.modules():
        if getattr(module, "inv_freq", None) is not None:
            count = module.inv_freq.numel()
            theta = module.config.rope_theta
            module.inv_freq = theta ** -(torch.arange(count, dtype=torch.float64) / count)
    return model


@contextlib.contextmanager
def float32_means_float64():
    """Inside, the library's own casts to float32 give float64: a float64 model stays one throughout."""
    import torch

    functional = torch.nn.functional
    saved = torch.Tensor.float, torch.Tensor.to, functional.softmax
    swap = lambda value: torch.float64 if value is torch.float32 else value

    def to(self, *args, **kwargs):
        return saved[1](self, *map(swap, args), **{key: swap(value) for key, value in kwargs.items()})

    def softmax(*args, **kwargs):
        return saved[2](*map(swap, args), **{key: swap(value) for key, value in kwargs.items()})

    torch.Tensor.float, torch.Tensor.to, functional.softmax = torch.Tensor.double, to, softmax
    try:
        yield
    finally:
        torch.Tensor.float, torch.Tensor.to, functional.softmax = saved


class Reference:
    """Runs the model on the case's tokens. `precise`: the float64 twin."""

    def __init__(self, config, weights, ids, precise=False):
        import torch

        self.family = families.find(config["model_type"])
        self.precise = precise
        self.dtype = torch.float64 if precise else torch.float32
        self.ids = ids
        self.model = build(config, weights, precise)
        self.body = getattr(self.model, self.family.body)
        # layer -> (name, module), in the order of layers; a mixer is what has an A.
        self.mixers = {module.layer_idx: (name, module) for name, module in self.model.named_modules()
                       if hasattr(module, "A_log")}
        for _, mixer in self.mixers.values():
            if self.family.one_chunk:
                mixer.chunk_size = ids.shape[1]

    def context(self):
        return float32_means_float64() if self.precise else contextlib.nullcontext()

    def forward(self, ids=None, **arguments):
        with self.context():
            return self.model(input_ids=self.ids if ids is None else ids, **arguments)

    def prefill(self):
        """The whole sequence, filling a cache. An empty hybrid cache does not know that it is empty, so the
        position is said."""
        import torch

        arguments = {self.family.cache: self.make_cache(), "use_cache": True}
        if self.family.hybrid_cache:
            arguments["cache_position"] = torch.arange(self.ids.shape[1])
        return self.forward(**arguments)

    def make_cache(self):
        if not self.family.hybrid_cache:
            return None
        cache_class = getattr(self.family.classes()[2], self.family.hybrid_cache)
        config, batch = self.model.config, self.ids.shape[0]
        return cache_class(config, batch, self.dtype, **falcon_devices(cache_class, config))

    def decode(self):
        """Logits token by token from the library's cache."""
        import torch

        cache, rows = self.make_cache(), []
        for t in range(self.ids.shape[1]):
            arguments = {self.family.cache: cache, "use_cache": True}
            if self.family.takes_position and (t > 0 or cache is not None):
                arguments["cache_position"] = torch.tensor([t])
            if self.family.hybrid_cache:
                arguments["position_ids"] = torch.full((self.ids.shape[0], 1), t)
            out = self.forward(self.ids[:, t:t + 1], **arguments)
            cache = getattr(out, self.family.cache)
            rows.append(out.logits)
        return torch.cat(rows, dim=1)

    @contextlib.contextmanager
    def watch(self, record):
        """Inside, every forward pass stores in `record`, by (layer, what), what parts take and return."""
        handles = []

        def note(key, module, taken):
            hook = lambda _, inputs, output: record.__setitem__(key, taken(inputs, output))
            handles.append(module.register_forward_hook(hook))

        first = lambda value: value[0] if isinstance(value, tuple) else value
        for layer, module in enumerate(self.body.layers):
            note((layer, "hidden"), module, lambda inputs, output: first(output))
            for part, attribute in self.family.parts:
                if getattr(module, attribute, None) is not None:
                    note((layer, part), getattr(module, attribute), lambda inputs, output: first(output))
        note(("final", "hidden"), getattr(self.body, self.family.final_norm), lambda inputs, output: output)
        for layer, (_, mixer) in self.mixers.items():
            note((layer, "u"), mixer.in_proj, lambda inputs, output: inputs[0])
            note((layer, "in_proj"), mixer.in_proj, lambda inputs, output: output)
            note((layer, "conv"), mixer.conv1d, lambda inputs, output: output)
            note((layer, "gated"), mixer.out_proj, lambda inputs, output: inputs[0])
            note((layer, "out"), mixer.out_proj, lambda inputs, output: output)
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def scan_inputs(self, layer, record):
        """x' (B,L,H,P), B' and C' (B,L,G,N) and the step sizes (B,L,H) of a watched pass."""
        import torch

        _, mixer = self.mixers[layer]
        projected = record[layer, "in_proj"] * getattr(mixer, "mup_vector", 1.0)
        batch, length, _ = projected.shape
        conv = torch.nn.functional.silu(record[layer, "conv"][..., :length].transpose(1, 2))
        width, groups, state = mixer.intermediate_size, mixer.n_groups, mixer.ssm_state_size
        x, b, c = conv.split([width, groups * state, groups * state], dim=-1)
        dt = torch.nn.functional.softplus(projected[..., -mixer.num_heads:] + mixer.dt_bias)
        floored = self.family.floors_step
        low, high = (mixer.time_step_min, math.inf) if floored else mixer.time_step_limit
        return (x.reshape(batch, length, mixer.num_heads, -1), b.reshape(batch, length, groups, state),
                c.reshape(batch, length, groups, state), dt.clamp(low, high))


def falcon_devices(cache_class, config):
    """One of the hybrid caches wants a device per layer."""
    if cache_class.__name__.startswith("Falcon"):
        return {"devices": ["cpu"] * config.num_hidden_layers}
    return {}
