"""Mamba2 whose groups have state sizes of their own, for the transformers library.

    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(PATH, trust_remote_code=True)

GHOST prunes the recurrent state of Mamba2 models and writes this file beside weights that no class of the library
can load. Two keys of config.json describe them:

    ghost_state_sizes   a list per layer with the number of state channels r of every group, 0 included
    ghost_state_maps    false: in_proj and conv1d make r channels of B and of C per group;
                        true: they make state_size channels, which b_map and c_map reduce to r

Sizes: R = H * P inner width, H heads of P, G groups of K = H / G heads, r state channels of a group, W width of the
convolution, L tokens. B, C, step sizes, decays, maps and states are float32 whatever the type of the weights.
"""

import torch
from torch import nn
from torch.nn import functional
from transformers import GenerationMixin, Mamba2Config, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

CHUNK = 64  # tokens that the scan processes at once: its matrices have CHUNK x CHUNK entries per head


class GhostMamba2Cache:
    """What a sequence carries from token to token; its size does not depend on the number of tokens."""

    is_compileable = False
    is_croppable = False

    def __init__(self, num_layers):
        self.conv = [None] * num_layers  # (batch, channels, W-1): the last inputs of the convolution
        self.state = [None] * num_layers  # per group (batch, K, P, r)
        self.num_tokens = 0

    def get_seq_length(self, layer_idx=0):
        return self.num_tokens

    def reorder_cache(self, beam_idx):
        def select(tensor):
            return tensor.index_select(0, beam_idx.to(tensor.device))

        self.conv = [None if conv is None else select(conv) for conv in self.conv]
        self.state = [None if state is None else [select(group) for group in state] for state in self.state]


def scan_step(x, dt, decay_rate, B, C, states):
    """One token of the recurrence, shapes as in `scan` with L = 1."""
    batch, _, H, P = x.shape
    K = H // len(B)
    decay = torch.exp(dt[:, 0] * decay_rate)  # (batch, H)
    scaled = x[:, 0] * dt[:, 0, :, None]  # (batch, H, P)
    outputs, next_states = [], []
    for g, state in enumerate(states):
        heads = slice(g * K, (g + 1) * K)
        state = decay[:, heads, None, None] * state + scaled[:, heads, :, None] * B[g][:, :, None, :]
        outputs.append((state.flatten(1, 2) @ C[g].transpose(1, 2)).view(batch, 1, K, P))
        next_states.append(state)
    return torch.cat(outputs, dim=2), next_states


def scan_chunk(x, dt, decay_rate, B, C, states):
    """The recurrence over at most CHUNK tokens in matrix form, shapes as in `scan`.

    y_t is a sum over the tokens s <= t of this chunk, with the decays of s+1 ... t between them, plus what the
    states before the chunk give after the decays of all tokens up to t.
    """
    batch, L, H, P = x.shape
    K = H // len(B)
    log_decay = (dt * decay_rate).transpose(1, 2)  # (batch, H, L)
    from_start = log_decay.cumsum(-1)
    # between[t, s]: the sum over s+1 ... t. Summed for every s by itself; differences of `from_start` would lose
    # the small decays that come after large ones.
    causal = torch.ones(L, L, dtype=torch.bool, device=x.device).tril()
    between = log_decay[..., None].expand(-1, -1, -1, L).masked_fill(~causal.tril(-1), 0.0).cumsum(-2)
    to_end = between[:, :, -1].transpose(1, 2).exp()  # (batch, L, H)
    between = between.masked_fill(~causal, float("-inf")).exp()

    scaled = x * dt[..., None]  # (batch, L, H, P)
    scores = torch.stack([c @ b.transpose(1, 2) for b, c in zip(B, C)], dim=1)  # (batch, G, L, L)
    weights = between.unflatten(1, (len(B), K)) * scores[:, :, None]
    inside = (weights.flatten(1, 2) @ scaled.transpose(1, 2)).transpose(1, 2)  # (batch, L, H, P)

    entering, next_states = [], []
    weighted = scaled * to_end[..., None]
    for g, state in enumerate(states):
        heads = slice(g * K, (g + 1) * K)
        entering.append((C[g] @ state.flatten(1, 2).transpose(1, 2)).view(batch, L, K, P))
        added = weighted[:, :, heads].flatten(2).transpose(1, 2) @ B[g]  # (batch, K*P, r)
        next_states.append(from_start[:, heads, -1, None, None].exp() * state + added.view_as(state))
    outside = torch.cat(entering, dim=2) * from_start.transpose(1, 2).exp()[..., None]
    return inside + outside, next_states


def scan(x, dt, decay_rate, B, C, states):
    """state <- exp(dt * decay_rate) * state + dt * x B^T;  y = state C, token by token.

    x (batch, L, H, P), dt (batch, L, H), decay_rate (H); B and C have (batch, L, r) per group and `states`
    (batch, K, P, r). Returns y (batch, L, H, P) and the states after the last token.
    """
    if x.shape[1] == 1:
        return scan_step(x, dt, decay_rate, B, C, states)
    outputs = []
    for begin in range(0, x.shape[1], CHUNK):
        part = slice(begin, begin + CHUNK)
        b, c = [group[:, part] for group in B], [group[:, part] for group in C]
        y, states = scan_chunk(x[:, part], dt[:, part], decay_rate, b, c, states)
        outputs.append(y)
    return torch.cat(outputs, dim=1), states


class GhostMamba2RMSNorm(nn.Module):
    """RMS norm, over the whole width or per group; with a gate z of y * SiLU(z)."""

    def __init__(self, width, eps, groups=1):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps
        self.groups = groups

    def forward(self, y, z=None):
        y = y.float()
        if z is not None:
            y = y * functional.silu(z.float())
        parts = y.unflatten(-1, (self.groups, -1))
        parts = parts * torch.rsqrt(parts.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * parts.flatten(-2).to(self.weight.dtype)


def as_float(value):
    # Some versions of the library write infinity as {"__float__": "Infinity"}, and others leave it so.
    return float(value["__float__"]) if isinstance(value, dict) else float(value)


class GhostMamba2Mixer(nn.Module):
    def __init__(self, config, layer, state_sizes, has_maps):
        super().__init__()
        self.layer = layer
        self.num_heads, self.head_dim, self.conv_width = config.num_heads, config.head_dim, config.conv_kernel
        self.state_sizes = list(state_sizes)
        self.input_sizes = [config.state_size] * len(self.state_sizes) if has_maps else self.state_sizes
        self.time_step_limit = [as_float(value) for value in config.time_step_limit]
        R, GN = self.num_heads * self.head_dim, sum(self.input_sizes)
        self.conv_parts = [R, GN, GN]  # x, B, C
        self.in_parts = [R, R + 2 * GN, self.num_heads]  # z, what the convolution reads, step sizes
        channels = sum(self.conv_parts)
        self.in_proj = nn.Linear(config.hidden_size, sum(self.in_parts), bias=config.use_bias)
        self.conv1d = nn.Conv1d(channels, channels, self.conv_width, groups=channels, bias=config.use_conv_bias)
        self.dt_bias = nn.Parameter(torch.ones(self.num_heads))
        self.A_log = nn.Parameter(torch.arange(1, self.num_heads + 1, dtype=torch.float32).log())
        self.D = nn.Parameter(torch.ones(self.num_heads))
        # Per group, as models are trained; the library's own class has one norm over all groups.
        self.norm = GhostMamba2RMSNorm(R, config.layer_norm_epsilon, config.n_groups)
        self.out_proj = nn.Linear(R, config.hidden_size, bias=config.use_bias)
        self.has_maps = has_maps
        if has_maps:
            self.b_map = nn.Linear(config.state_size, sum(self.state_sizes), bias=False)
            self.c_map = nn.Linear(config.state_size, sum(self.state_sizes), bias=False)

    def convolve(self, xbc, cache):
        """Causal convolution and SiLU of (batch, L, channels), after what the cache holds or zeros."""
        before = cache.conv[self.layer] if cache is not None else None
        xbc = xbc.transpose(1, 2)
        if before is None:
            before = xbc.new_zeros(xbc.shape[0], xbc.shape[1], self.conv_width - 1)
        joined = torch.cat([before, xbc], dim=-1)
        if cache is not None:
            cache.conv[self.layer] = joined[..., xbc.shape[-1] :].clone()
        return functional.silu(self.conv1d(joined)).transpose(1, 2)

    def group(self, inputs, linear):
        """B or C as one (batch, L, r) per group."""
        groups = inputs.split(self.input_sizes, dim=-1)
        if linear is None:
            return groups
        maps = linear.weight.float().split(self.state_sizes)
        return [functional.linear(group, weight) for group, weight in zip(groups, maps)]

    def states(self, batch, cache, like):
        if cache is not None and cache.state[self.layer] is not None:
            return cache.state[self.layer]
        K = self.num_heads // len(self.state_sizes)
        return [like.new_zeros(batch, K, self.head_dim, r) for r in self.state_sizes]

    def forward(self, inputs, mask, cache):
        batch, L, _ = inputs.shape
        z, xbc, dt = self.in_proj(inputs).split(self.in_parts, dim=-1)
        dt = functional.softplus(dt.float() + self.dt_bias.float()).clamp(*self.time_step_limit)
        if mask is not None:  # padding reaches neither the convolution nor the state
            xbc, dt = xbc * mask[..., None].to(xbc.dtype), dt * mask[..., None]
        x, B, C = self.convolve(xbc, cache).float().split(self.conv_parts, dim=-1)
        B = self.group(B, self.b_map if self.has_maps else None)
        C = self.group(C, self.c_map if self.has_maps else None)
        x = x.unflatten(-1, (self.num_heads, self.head_dim))
        decay_rate = -torch.exp(self.A_log.float())
        y, states = scan(x, dt, decay_rate, B, C, self.states(batch, cache, like=x))
        if cache is not None:
            cache.state[self.layer] = states
        y = (y + self.D.float()[:, None] * x).flatten(-2)
        return self.out_proj(self.norm(y, z).to(self.out_proj.weight.dtype))


class GhostMamba2Block(nn.Module):
    def __init__(self, config, layer, state_sizes, has_maps):
        super().__init__()
        self.residual_in_fp32 = config.residual_in_fp32
        self.norm = GhostMamba2RMSNorm(config.hidden_size, config.layer_norm_epsilon)
        self.mixer = GhostMamba2Mixer(config, layer, state_sizes, has_maps)

    def forward(self, hidden, mask, cache):
        residual = hidden.float() if self.residual_in_fp32 else hidden
        return residual + self.mixer(self.norm(hidden), mask, cache)


class GhostMamba2Backbone(nn.Module):
    def __init__(self, config):
        super().__init__()
        sizes = config.ghost_state_sizes
        if len(sizes) != config.num_hidden_layers or any(len(layer) != config.n_groups for layer in sizes):
            shape = f"{config.num_hidden_layers} lists of {config.n_groups} numbers"
            raise ValueError(f"ghost_state_sizes of config.json must have {shape}")
        self.has_maps = bool(config.ghost_state_maps)
        self.embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            [GhostMamba2Block(config, layer, sizes[layer], self.has_maps) for layer in range(len(sizes))]
        )
        self.norm_f = GhostMamba2RMSNorm(config.hidden_size, config.layer_norm_epsilon)

    def forward(self, hidden, mask, cache, kept=None):
        """The final normed hidden states; appends those before every layer and the final ones to `kept`."""
        for layer in self.layers:
            if kept is not None:
                kept.append(hidden)
            hidden = layer(hidden, mask, cache)
        hidden = self.norm_f(hidden)
        if kept is not None:
            kept.append(hidden)
        return hidden


class GhostMamba2ForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = Mamba2Config
    base_model_prefix = "backbone"
    _no_split_modules = ["GhostMamba2Block"]
    _tied_weights_keys = {"lm_head.weight": "backbone.embeddings.weight"}
    _is_stateful = True  # a state cannot return to an earlier token

    def __init__(self, config):
        super().__init__(config)
        self.backbone = GhostMamba2Backbone(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        # Small, and used as float32: kept so even in a model of 16 bits.
        exact = ["dt_bias", "A_log", "D"]
        if self.backbone.has_maps:
            exact += ["b_map", "c_map"]
        self._keep_in_fp32_modules_strict = exact
        self.post_init()

    def get_input_embeddings(self):
        return self.backbone.embeddings

    def set_input_embeddings(self, value):
        self.backbone.embeddings = value

    def get_output_embeddings(self):
        return self.lm_head

    def set_output_embeddings(self, value):
        self.lm_head = value

    def _prepare_cache_for_generation(self, generation_config, model_kwargs, *args, **kwargs):
        # Instead of the library's, which has no place for states of this form.
        if generation_config.use_cache is not False and model_kwargs.get("past_key_values") is None:
            model_kwargs["past_key_values"] = GhostMamba2Cache(len(self.backbone.layers))

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        inputs_embeds=None,
        past_key_values=None,
        labels=None,
        use_cache=None,
        output_hidden_states=None,
        return_dict=None,
        logits_to_keep=0,
        **kwargs,
    ):
        """With `past_key_values` the tokens continue that cache, which is updated; an attention mask may cover them
        alone or all tokens. Zeros in it mark padding on the left."""
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids or inputs_embeds")
        hidden = self.backbone.embeddings(input_ids) if inputs_embeds is None else inputs_embeds
        if use_cache is None:
            use_cache = self.config.use_cache and not self.training
        if use_cache and past_key_values is None:
            past_key_values = GhostMamba2Cache(len(self.backbone.layers))
        mask = None if attention_mask is None else attention_mask[:, -hidden.shape[1] :]
        kept = [] if output_hidden_states else None
        hidden = self.backbone(hidden, mask, past_key_values, kept)
        if past_key_values is not None:
            past_key_values.num_tokens += hidden.shape[1]

        rows = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.lm_head(hidden[:, rows].to(self.lm_head.weight.dtype)).float()
        loss = None
        if labels is not None:
            loss = self.loss_function(
                logits, labels, vocab_size=self.config.vocab_size, num_items_in_batch=kwargs.get("num_items_in_batch")
            )
        output = CausalLMOutputWithPast(
            loss=loss,
            logits=logits,
            past_key_values=past_key_values if use_cache else None,
            hidden_states=tuple(kept) if kept is not None else None,
        )
        return output.to_tuple() if return_dict is False else output


GhostMamba2ForCausalLM.register_for_auto_class("AutoModelForCausalLM")  # so that save_pretrained copies this file
