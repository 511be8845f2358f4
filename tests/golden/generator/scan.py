"""The selective scan of a mixer, token by token. A mixer is any module with the library's attributes."""


def scan_inputs(mixer, projected, limit):
    """x' (B,L,H,P), B' and C' (B,L,G,N) and the step sizes (B,L,H) from what in_proj returned, with its
    factors."""
    import torch

    functional = torch.nn.functional
    width, groups, state = mixer.intermediate_size, mixer.n_groups, mixer.ssm_state_size
    batch, length, _ = projected.shape
    convolved = projected[..., width:-mixer.num_heads].transpose(1, 2)
    filters = mixer.conv1d.weight
    convolved = functional.conv1d(convolved, filters, mixer.conv1d.bias, padding=filters.shape[-1] - 1,
                                  groups=convolved.shape[1])[..., :length].transpose(1, 2)
    x, b, c = functional.silu(convolved).split([width, groups * state, groups * state], dim=-1)
    dt = functional.softplus(projected[..., -mixer.num_heads:] + mixer.dt_bias)
    return (x.reshape(batch, length, mixer.num_heads, -1), b.reshape(batch, length, groups, state),
            c.reshape(batch, length, groups, state), dt.clamp(*limit))


def spread(groups, heads):
    """(B,L,G,N) -> (B,L,H,N): head h belongs to group h // K."""
    return groups.repeat_interleave(heads // groups.shape[2], dim=2)


def scan(mixer, x, b, c, dt):
    """Yields, after every token, the state (B,H,P,N) and the output with the D skip (B,H,P)."""
    import torch

    heads = dt.shape[-1]
    decay = torch.exp(dt * -torch.exp(mixer.A_log))
    b_heads, c_heads = spread(b, heads), spread(c, heads)
    state = torch.zeros(x.shape[0], heads, x.shape[3], b.shape[3], dtype=x.dtype)
    for t in range(x.shape[1]):
        drive = (dt[:, t, :, None] * x[:, t])[..., None] * b_heads[:, t, :, None, :]
        state = decay[:, t, :, None, None] * state + drive
        yield state, (state * c_heads[:, t, :, None, :]).sum(-1) + mixer.D[:, None] * x[:, t]
