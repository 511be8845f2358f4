"""The model of one case, float32 or float64, and what its mixers see while it runs: the library's model, or
for hybrids the formulas of hybrid.py."""

import contextlib
import math

from . import families, plans
from .scan import scan_inputs

LIBRARY, FORMULAS = "library", "formulas"  # where a model comes from


def build(config, weights, precise=False):
    """The library's model with these weights, in evaluation mode. Hybrids go through its own loading, which
    renames and joins what files spell differently."""
    family = families.find(config["model_type"])
    config_class, model_class, _ = family.classes()
    library = config_class.from_dict(dict(config))
    library._attn_implementation = library._experts_implementation = "eager"
    load = load_converted if family.plan else load_plain
    model = load(model_class, library, weights).eval()
    return widen(model) if precise else model


def load_plain(model_class, config, weights):
    """What shares a given tensor is given too."""
    model = model_class(config)
    missing, unknown = model.load_state_dict(weights, strict=False)
    parameters = dict(model.named_parameters(remove_duplicate=False))
    given = {id(parameters[name]) for name in weights if name in parameters}
    check_fit([name for name in missing if id(parameters[name]) not in given], unknown)
    return model


def load_converted(model_class, config, weights):
    import torch

    copies = {name: tensor.clone() for name, tensor in weights.items()}
    model, info = model_class.from_pretrained(None, config=config, state_dict=copies, dtype=torch.float32,
                                              output_loading_info=True)
    check_fit(info["missing_keys"], info["unexpected_keys"])
    if info["mismatched_keys"]:
        raise ValueError(f"weights of other shapes: {info['mismatched_keys']}")
    return model


def build_formulas(plan, weights, precise):
    """hybrid.py's model with these weights."""
    import torch

    from . import hybrid

    model = hybrid.Model(plan)
    check_fit(*model.load_state_dict(weights, strict=False))
    return model.to(torch.float64 if precise else torch.float32)


def check_fit(missing, unknown):
    if missing or unknown:
        raise ValueError(f"weights do not fit: missing {list(missing)}, unknown {list(unknown)}")


def widen(model):
    """The same weights in float64. Rotary frequencies are computed in float32 by the library: do it again."""
    import torch

    model = model.double()
    for module in model.modules():
        if getattr(module, "inv_freq", None) is not None:
            count = module.inv_freq.numel()
            theta = plans.rope_theta(module.config.to_dict())
            module.inv_freq = theta ** -(torch.arange(count, dtype=torch.float64) / count)
    return model


@contextlib.contextmanager
def float32_means_float64():
    """Inside, the library's own casts to float32 give float64: a float64 model stays one throughout."""
    import torch

    functional = torch.nn.functional
    saved = torch.Tensor.float, torch.Tensor.to, functional.softmax, torch.Tensor.type
    swap = lambda value: torch.float64 if value is torch.float32 else value

    def to(self, *args, **kwargs):
        return saved[1](self, *map(swap, args), **{key: swap(value) for key, value in kwargs.items()})

    def softmax(*args, **kwargs):
        return saved[2](*map(swap, args), **{key: swap(value) for key, value in kwargs.items()})

    def kind(self, *args, **kwargs):
        return saved[3](self, *map(swap, args), **kwargs)

    torch.Tensor.float, torch.Tensor.to, functional.softmax = torch.Tensor.double, to, softmax
    torch.Tensor.type = kind
    try:
        yield
    finally:
        torch.Tensor.float, torch.Tensor.to, functional.softmax, torch.Tensor.type = saved


class Reference:
    """Runs the model on the case's tokens. `precise`: the float64 twin."""

    def __init__(self, config, weights, ids, precise=False, source=LIBRARY):
        self.family = families.find(config["model_type"])
        self.plan = self.family.plan(config) if self.family.plan else None
        self.widened = precise and source == LIBRARY
        self.ids = ids
        self.source = source
        if source == LIBRARY:
            self.model, body = build(config, weights, precise), self.family.body
        else:
            self.model, body = build_formulas(self.plan, weights, precise), self.plan.body
        self.body = getattr(self.model, body)
        # layer -> (name in the file, module), in the order of layers; a mixer is what has an A.
        stored = self.family.stored_body(config)
        self.mixers = {module.layer_idx: (stored + name.removeprefix(body), module)
                       for name, module in self.model.named_modules() if hasattr(module, "A_log")}
        if self.plan:
            self.limit_steps(plans.step_limit(config))
        for _, mixer in self.mixers.values():
            if self.family.one_chunk:
                mixer.chunk_size = ids.shape[1]

    def limit_steps(self, limit):
        """Sets the lowest and highest step size. The library's Nemotron-H does not read them."""
        for _, mixer in self.mixers.values():
            mixer.time_step_limit = limit

    def group_norms(self):
        """Takes the gated norm per group; in the library, by its class that does so."""
        for _, mixer in self.mixers.values():
            if self.source == FORMULAS:
                mixer.norm.groups = mixer.n_groups
                continue
            from transformers.models.zamba2.modeling_zamba2 import Zamba2RMSNormGated

            width = mixer.intermediate_size
            norm = Zamba2RMSNormGated(width, width // mixer.n_groups, eps=mixer.norm.variance_epsilon)
            norm.weight = mixer.norm.weight
            mixer.norm = norm

    def routing_gap(self):
        """How close the closest choice of experts was; the library does not say."""
        return self.model.routing_gap() if self.source == FORMULAS else math.inf

    def context(self):
        return float32_means_float64() if self.widened else contextlib.nullcontext()

    def forward(self, ids=None, **arguments):
        with self.context():
            return self.model(input_ids=self.ids if ids is None else ids, **arguments)

    def prefill(self):
        """(result of the whole sequence, state after it by layer)"""
        result = self.forward(use_cache=True)
        if self.source == FORMULAS:
            return result, {layer: mixer.final_state for layer, (_, mixer) in self.mixers.items()}
        cache = getattr(result, self.family.cache)
        if self.plan:
            return result, {layer: cache.layers[layer].recurrent_states[0] for layer in self.mixers}
        return result, {layer: cache.ssm_states[layer] for layer in self.mixers}

    def decode(self):
        """Logits token by token from the library's cache."""
        import torch

        cache, rows = None, []
        for t in range(self.ids.shape[1]):
            arguments = {self.family.cache: cache, "use_cache": True}
            if self.family.takes_position and t > 0:
                arguments["cache_position"] = torch.tensor([t])
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
            for label, attribute in self.plan.parts(layer) if self.plan else ():
                note((layer, label), getattr(module, attribute), lambda inputs, output: first(output))
        note(("final", "hidden"), getattr(self.body, self.family.final_norm), lambda inputs, output: output)
        for layer, (_, mixer) in self.mixers.items():
            note((layer, "u"), mixer.in_proj, lambda inputs, output: inputs[0])
            note((layer, "in_proj"), mixer.in_proj, lambda inputs, output: output)
            note((layer, "gated"), mixer.out_proj, lambda inputs, output: inputs[0])
            note((layer, "out"), mixer.out_proj, lambda inputs, output: output)
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def scan_inputs(self, layer, record):
        """x', B', C' and the step sizes of a watched pass, as scan.scan_inputs."""
        _, mixer = self.mixers[layer]
        floored = self.family.floors_step
        limit = (mixer.time_step_min, math.inf) if floored else mixer.time_step_limit
        return scan_inputs(mixer, record[layer, "in_proj"] * getattr(mixer, "mup_vector", 1.0), limit)
