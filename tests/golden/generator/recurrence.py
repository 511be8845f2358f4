"""Mamba2 from its formulas (docs/method.md §2 to §6), in numpy and float64: a second opinion that
shares no code with the library. Slow and short."""

import numpy as np

from .quantities import SPARSITIES


def silu(v):
    return v / (1.0 + np.exp(-v))


def rms(v, weight, eps):
    return v / np.sqrt((v * v).mean(-1, keepdims=True) + eps) * weight


class Model:
    """Weights as float64 arrays, sizes by the letters of docs/method.md."""

    def __init__(self, config, weights):
        self.w = {name: tensor.double().numpy().copy() for name, tensor in weights.items()}
        self.layers, self.eps = config["num_hidden_layers"], config["layer_norm_epsilon"]
        self.H, self.P = config["num_heads"], config["head_dim"]
        self.G, self.N = config["n_groups"], config["state_size"]
        self.R, self.limit = self.H * self.P, config["time_step_limit"]

    def mixer(self, layer, u):
        """(output, state after the last token, S, P, Q) for one sequence u: (L, M), already normed."""
        w = {name.split(".mixer.")[1]: v for name, v in self.w.items() if f".layers.{layer}.mixer." in name}
        R, G, N, L = self.R, self.G, self.N, len(u)
        q = u @ w["in_proj.weight"].T + w.get("in_proj.bias", 0.0)
        z, v, dt = np.split(q, [R, 2 * R + 2 * G * N], axis=1)
        taps = w["conv1d.weight"][:, 0]
        padded = np.vstack([np.zeros((taps.shape[1] - 1, v.shape[1])), v])
        conv = sum(padded[k:k + L] * taps[:, k] for k in range(taps.shape[1])) + w.get("conv1d.bias", 0.0)
        x, b, c = np.split(silu(conv), [R, R + G * N], axis=1)
        x, b, c = x.reshape(L, self.H, self.P), b.reshape(L, G, N), c.reshape(L, G, N)
        dt = np.clip(np.logaddexp(0.0, dt + w["dt_bias"]), *self.limit)
        group = np.arange(self.H) // (self.H // G)
        state, y = np.zeros((self.H, self.P, N)), np.zeros((L, self.H, self.P))
        s, p = np.zeros((self.H, N)), np.zeros((self.H, N))
        for t in range(L):
            decay = np.exp(dt[t] * -np.exp(w["A_log"]))
            state = decay[:, None, None] * state + np.einsum("h,hp,hn->hpn", dt[t], x[t], b[t, group])
            y[t] = np.einsum("hpn,hn->hp", state, c[t, group]) + w["D"][:, None] * x[t]
            energy = (state ** 2).sum(1)
            p, s = p + energy, s + energy * c[t, group] ** 2
        pool = lambda sums: sums.reshape(G, self.H // G, N).sum(1)
        r = rms(y.reshape(L, R) * silu(z), w["norm.weight"], self.eps)
        out = r @ w["out_proj.weight"].T + w.get("out_proj.bias", 0.0)
        return out, state, pool(s), pool(p), (c ** 2).sum(0)

    def embed(self, ids):
        return [self.w["backbone.embeddings.weight"][row] for row in ids]

    def layer(self, layer, hidden):
        """The layer's outputs per sequence, and its sums over all of them."""
        norm = self.w[f"backbone.layers.{layer}.norm.weight"]
        results = [self.mixer(layer, rms(h, norm, self.eps)) for h in hidden]
        sums = [sum(result[k] for result in results) for k in (2, 3, 4)]
        return [h + result[0] for h, result in zip(hidden, results)], np.stack([r[1] for r in results]), sums

    def logits(self, hidden):
        final = rms(np.stack(hidden), self.w["backbone.norm_f.weight"], self.eps)
        return final, final @ self.w.get("lm_head.weight", self.w["backbone.embeddings.weight"]).T

    def drop(self, layer, channels):
        prefix, pool = f"backbone.layers.{layer}.mixer.", self.G * self.N
        for offset in (0, pool):
            self.w[prefix + "in_proj.weight"][2 * self.R + offset + channels] = 0.0
            for name in ("conv1d.weight", "conv1d.bias"):
                if prefix + name in self.w:
                    self.w[prefix + name][self.R + offset + channels] = 0.0


def lowest(scores, sparsity):
    """The floor(kappa G N) channels with the lowest scores, ties by lower index."""
    return np.argsort(scores.ravel(), kind="stable")[:int(sparsity * scores.size + 1e-9)]


def compute(config, weights, ids):
    """What the formulas give for the forward pass, scores, masks and pruned logits, as torch tensors."""
    import torch

    ids, out = ids.numpy(), {}
    model = Model(config, weights)
    hidden = model.embed(ids)
    for j in range(model.layers):
        hidden, out[f"ssm_state.{j}"], sums = model.layer(j, hidden)
        out[f"hidden.{j}"] = np.stack(hidden)
        out.update({f"ghost.{key}.{j}": value for key, value in zip("SPQ", sums)})
    out["hidden.final"], out["logits"] = model.logits(hidden)
    for prefix, sparsity in SPARSITIES.items():
        model = Model(config, weights)
        hidden = model.embed(ids)
        for j in range(model.layers):
            scores = model.layer(j, hidden)[2][0]
            mask = np.ones(scores.size, dtype=np.uint8)
            mask[lowest(scores, sparsity)] = 0
            out[f"{prefix}.mask.{j}"] = mask.reshape(scores.shape)
            model.drop(j, lowest(scores, sparsity))
            hidden = model.layer(j, hidden)[0]
            if prefix == "ghost":
                out[f"ghost.seq.S.{j}"] = scores
        if prefix == "ghost":
            out["ghost.logits"] = model.logits(hidden)[1]
    log_p = out["logits"] - np.logaddexp.reduce(out["logits"], axis=-1, keepdims=True)
    rows = np.take_along_axis(log_p[:, :-1], ids[:, 1:, None], axis=-1)
    out["taylor.loss"] = -rows.mean(keepdims=True).reshape(1)
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in out.items()}
