"""Writes gpt_golden.hpp: the numbers of torch for attention to another sequence, and of transformers for rotary
embeddings and for a small GPT-2.

Inputs and parameters come from one formula that C++ repeats to the last bit, so the header holds results only. Run
it with torch, transformers and numpy from PyPI: python tests/golden/make_gpt_golden.py, then clang-format -i.
"""

import golden_header
import torch
import transformers
from torch.nn import functional
from transformers.models.llama import modeling_llama

HEADER = f"""\
// Made by tests/golden/make_gpt_golden.py with torch {torch.__version__.split("+")[0]} and transformers
// {transformers.__version__} in float64: do not edit.
//
// Inputs and parameters are those that tests/models/gpt_test.cpp makes of `formula`.
#pragma once

#include <array>

namespace glia_golden {{

"""


def formula(offset, *shape):
    count = torch.Size(shape).numel()
    values = [((i * i * 61 + i * 7919 + offset) % 1000) / 1000.0 - 0.5 for i in range(count)]
    return torch.tensor(values, dtype=torch.float64).float().double().reshape(shape)


def cross_attention(source_mask):
    """Two heads of 3; queries of a sequence (2, 4, 5), keys and values of another one (2, 6, 7)."""
    x, source = formula(11, 2, 4, 5), formula(13, 2, 6, 7)
    project = {}
    for i, (name, features) in enumerate([("query", 5), ("key", 7), ("value", 7)]):
        values = (x if name == "query" else source) @ formula(21 + 2 * i, features, 6) + formula(22 + 2 * i, 6)
        project[name] = values.unflatten(2, (2, 3)).transpose(1, 2)
    mask = None if source_mask is None else source_mask[:, None, None, :]
    y = functional.scaled_dot_product_attention(project["query"], project["key"], project["value"], mask)
    return y.transpose(1, 2).flatten(2) @ formula(27, 6, 5) + formula(28, 5)


def rotary_attention(max_wavelength):
    """Two heads of 6, causal, of a sequence (2, 7, 5)."""
    x = formula(11, 2, 7, 5)
    config = transformers.LlamaConfig(hidden_size=12, num_attention_heads=2, max_position_embeddings=7,
                                      rope_parameters={"rope_type": "default", "rope_theta": max_wavelength})
    rotary = modeling_llama.LlamaRotaryEmbedding(config)
    rotary.inv_freq = rotary.inv_freq.double()
    angles = torch.arange(7, dtype=torch.float64)[:, None] * (max_wavelength ** (-torch.arange(3, dtype=torch.float64) / 3))
    assert torch.allclose(rotary.inv_freq, max_wavelength ** (-torch.arange(3, dtype=torch.float64) / 3), rtol=1e-6)
    both = torch.cat([angles, angles], -1)[None]
    heads = [(x @ formula(21 + 2 * i, 5, 12) + formula(22 + 2 * i, 12)).unflatten(2, (2, 6)).transpose(1, 2)
             for i in range(3)]
    query, key = modeling_llama.apply_rotary_pos_emb(heads[0], heads[1], both.cos(), both.sin())
    y = functional.scaled_dot_product_attention(query, key, heads[2], is_causal=True)
    return y.transpose(1, 2).flatten(2) @ formula(27, 12, 5) + formula(28, 5)


def small_gpt2():
    """Parameter i in the order of the names is formula(17 i)."""
    config = transformers.GPT2Config(vocab_size=13, n_positions=10, n_embd=12, n_layer=2, n_head=2, bos_token_id=None,
                                     eos_token_id=None)
    net = transformers.GPT2LMHeadModel(config).double().eval()
    state = net.transformer.state_dict()
    net.transformer.load_state_dict({name: formula(17 * i, *state[name].shape) for i, name in enumerate(sorted(state))})
    net.tie_weights()
    return net


def sequences(numbers):
    return torch.tensor([[(i * 5 + n * 3 + i * i) % 13 for i in range(10)] for n in numbers])


def gpt2():
    """Logits (2, 9, 13)."""
    with torch.no_grad():
        return small_gpt2()(sequences(range(2))[:, :9]).logits


def gpt2_training():
    """The loss of sequences 4 to 6 after 20, 40, ..., 100 steps of Adam on sequences 0 to 3."""
    net = small_gpt2()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, eps=1e-7)

    def loss_of(numbers):
        tokens = sequences(numbers)
        return functional.cross_entropy(net(tokens[:, :9]).logits.flatten(0, 1), tokens[:, 1:].flatten())

    losses = []
    for step in range(1, 101):
        optimizer.zero_grad()
        loss_of(range(4)).backward()
        optimizer.step()
        if step % 20 == 0:
            with torch.no_grad():
                losses.append(loss_of(range(4, 7)))
    return torch.stack(losses)


padded = torch.ones(2, 6, dtype=torch.bool)
padded[0, 4:] = False
padded[1, 1] = False
golden_header.write("gpt_golden.hpp", HEADER, [
    ("cross_attention", cross_attention(None)),
    ("cross_attention_with_padding", cross_attention(padded)),
    ("rotary_attention", rotary_attention(1e4)),
    ("rotary_attention_of_short_waves", rotary_attention(20.0)),
    ("gpt2", gpt2()),
    ("gpt2_training", gpt2_training()),
])
