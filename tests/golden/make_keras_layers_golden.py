"""Writes keras_layers_golden.hpp: what Keras gives for layers that torch has none of, or others, such as masks.

Inputs and parameters come from one formula that C++ repeats to the last bit, so the header holds results only.
Run it with Keras 3 on any of its backends, then clang-format -i:

    KERAS_BACKEND=jax JAX_ENABLE_X64=1 python3 tests/golden/make_keras_layers_golden.py
"""


import golden_header
import keras
import numpy
from keras import layers

HEADER = """\
// Made by tests/golden/make_keras_layers_golden.py with Keras {version} in float64: do not edit.
//
// Inputs and parameters are those that tests/layers/masking_test.cpp makes of `formula`.
#pragma once

#include <array>

namespace glia_golden {{

"""

UNITS = 3
STEPS = numpy.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 0, 1, 0]], dtype=float)


def formula(offset, *shape):
    count = int(numpy.prod(shape))
    values = [((i * i * 61 + i * 7919 + offset) % 1000) / 1000.0 - 0.5 for i in range(count)]
    return numpy.array(values, dtype=numpy.float32).astype(numpy.float64).reshape(shape)


def with_weights(layer, shape, offsets):
    layer.build(shape)
    layer.set_weights([formula(offset, *w.shape) for offset, w in zip(offsets, layer.weights, strict=True)])
    return layer


def masked(layer, x, offsets=(17, 19, 29)):
    """What a layer gives behind Masking, which passes over steps of zeros."""
    return with_weights(layer, x.shape, offsets)(x, mask=numpy.any(x != 0, axis=-1))


def recurrent_cases():
    x = formula(13, 3, 5, 4) * STEPS[:, :, None]
    for backwards in (False, True):
        end = "_backwards" if backwards else ""
        for sequences in (True, False):
            options = {"units": UNITS, "go_backwards": backwards, "return_sequences": sequences}
            part = "" if sequences else "_last"
            cases = {
                "gru": layers.GRU(**options),
                "gru_before": layers.GRU(reset_after=False, **options),
                "lstm": layers.LSTM(**options),
                "simple_rnn": layers.SimpleRNN(**options),
            }
            for name, layer in cases.items():
                y = numpy.array(masked(layer, x))
                # Keras gives what it reads backwards in the order in which it read it.
                yield f"masked_{name}{end}{part}", y[:, ::-1] if backwards and sequences else y
    both = layers.Bidirectional(layers.GRU(UNITS, return_sequences=True))
    yield "masked_both_ways", masked(both, x, (17, 19, 29, 43, 47, 59))


def attention_cases():
    x = formula(37, 3, 5, 6) * STEPS[:, :, None]
    for causal in (False, True):
        layer = layers.MultiHeadAttention(num_heads=2, key_dim=3)
        layer.build(x.shape, x.shape)
        # The order of its weights: query, key, value, output, each kernel before its bias.
        offsets = (43, 73, 47, 79, 59, 109, 67, 113)
        shapes = [w.shape for w in layer.weights]
        layer.set_weights([formula(o, *s) for o, s in zip(offsets, shapes, strict=True)])
        mask = numpy.any(x != 0, axis=-1)
        y = layer(x, x, query_mask=mask, value_mask=mask, use_causal_mask=causal)
        # What a step gives that is passed over means nothing.
        yield "masked_attention" + ("_causal" if causal else ""), numpy.array(y) * STEPS[:, :, None]


def cases():
    yield from recurrent_cases()
    yield from attention_cases()
    x = formula(13, 3, 5, 4) * STEPS[:, :, None]
    yield "masked_mean", layers.GlobalAveragePooling1D()(x, mask=STEPS.astype(bool))
    words = numpy.array([[3, 1, 6, 2, 5], [4, 4, 1, 0, 0], [0, 2, 0, 6, 0]])
    table = with_weights(layers.Embedding(7, 4, mask_zero=True), words.shape, (61,))
    vectors = table(words)
    gru = with_weights(layers.GRU(UNITS, return_sequences=True), vectors.shape, (17, 19, 29))
    lstm = with_weights(layers.LSTM(2), (3, 5, UNITS), (43, 47, 59))
    mask = table.compute_mask(words)
    yield "words", lstm(gru(vectors, mask=mask), mask=mask)


def main():
    keras.config.set_floatx("float64")
    golden_header.write("keras_layers_golden.hpp", HEADER.format(version=keras.__version__), cases())


main()
