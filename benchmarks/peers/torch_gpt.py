"""The GPT and the transformer block of benchmarks/network_report.cpp in PyTorch 2."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width, heads, causal=True):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.attention_norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def by_head(self, x):
        heads = self.project(self.attention_norm(x)).chunk(3, 2)
        return [part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in heads]

    def finish(self, x, attended):
        x = x + self.output(attended.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.hidden(self.norm(x))))

    def forward(self, x):
        query, key, value = self.by_head(x)
        return self.finish(x, functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal))

    def step(self, x, cache, position, visible):
        """One token, with the keys and values of the earlier ones, which it adds to."""
        query, key, value = self.by_head(x)
        keys, values = cache
        keys.index_copy_(2, position, key)
        values.index_copy_(2, position, value)
        return self.finish(x, functional.scaled_dot_product_attention(query, keys, values, attn_mask=visible))


class GPT(nn.Module):
    TOKENS, STEPS, LAYERS, HEADS, WIDTH = 65, 256, 4, 4, 128

    def __init__(self, tokens=TOKENS):
        super().__init__()
        self.tokens = nn.Embedding(tokens, self.WIDTH)
        self.positions = nn.Embedding(self.STEPS, self.WIDTH)
        self.blocks = nn.ModuleList(Block(self.WIDTH, self.HEADS) for _ in range(self.LAYERS))
        self.norm = nn.LayerNorm(self.WIDTH)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def scores(self, x):
        return functional.linear(self.norm(x), self.tokens.weight)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.scores(x)

    def caches(self):
        shape = (1, self.HEADS, self.STEPS, self.WIDTH // self.HEADS)
        return [(torch.zeros(shape), torch.zeros(shape)) for _ in self.blocks]

    def step(self, ids, caches, position):
        visible = (torch.arange(self.STEPS) <= position).reshape(1, 1, 1, -1)
        x = self.tokens(ids) + self.positions(position)
        for block, cache in zip(self.blocks, caches):
            x = block.step(x, cache, position, visible)
        return self.scores(x)
