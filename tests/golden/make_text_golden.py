"""Writes text_golden.hpp: what Hugging Face's tokenizers make of texts, and which tokens NumPy would draw from.
Trains the small tokenizer for it, examples/data/tokenizer, on glia's own pages.

Run it with tokenizers and numpy from PyPI: python3 tests/golden/make_text_golden.py, then clang-format -i.
"""

import pathlib

import numpy
import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/data/tokenizer"
SPECIAL = "<|endoftext|>"

HEADER = """\
// Made by tests/golden/make_text_golden.py with tokenizers {version}: do not edit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace glia_golden {{

struct byte_pair_case {{
  std::string text;
  std::vector<std::int32_t> ids;
}};

struct sampling_case {{
  std::vector<float> logits;
  double temperature;
  std::size_t top_k;
  double top_p;
  std::vector<std::int32_t> ids;  // the most likely first
  std::vector<double> probabilities;
}};

"""

TEXTS = [
    "",
    " ",
    "a",
    "glia trains and runs neural networks on xtensor.",
    "It's what they've said: we'll see, I'm sure you'd, they're, don't. IT'S 'sound' ''s 'S'll",
    "A batch of 64 images, 3.14159, 0x1F and 1e-5; x2 2x, 100,000",
    "two  spaces, three   spaces, a tab\tand\t\ttwo",
    "lines\nand\n\nmore\r\nlines\n  indented\n    more\n",
    "the end has spaces   ",
    "   the start as well",
    "\u00a0no-break\u00a0 space, em\u2003space, ideographic\u3000space, line\u2028separator, next\u0085line, \u180e\u200b\ufeff",
    "file separators \x1c\x1d\x1e\x1f and \x00 nothing \x7f",
    "Größe, naïve café, Ångström, Þorn, œuvre, ﬁx, ǅ, ª, ʰ",
    "combining: e\u0301 a\u0308\u0323 n\u0303o, \u0301alone",
    "Добрый день, καλημέρα, გამარჯობა, שָׁלוֹם",
    "你好，世界。こんにちは 세계",
    "٣٤٥ ४२ ⅷ ² ½ ① 10²",
    "مرحبا ١٢٣ عالم",
    "😀 👩\u200d👩\u200d👧 🇩🇪 👍🏽!!",
    "𝒳 𝟙𝟚 𐍈 𠀀 \U000e0041 \U0010ffff \ue000 \ufffd \u0378",
    f"first{SPECIAL}second {SPECIAL}\n{SPECIAL}{SPECIAL}<|endoftext|",
    SPECIAL,
    "if (x <= 0) { return a[i]->b(); }  // ------ ===== ###",
    "https://example.org/a_b?c=d&e=%20#f",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" + "layerlayerlayers" * 3,
]


def train():
    """A tokenizer of GPT-2's kind with 512 tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=512, special_tokens=[SPECIAL], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train([str(page) for page in sorted(ROOT.glob("docs/*/*.md"))], trainer)
    FOLDER.mkdir(exist_ok=True)
    tokenizer.model.save(str(FOLDER))


def read():
    """The tokenizer, without special tokens."""
    tokenizer = Tokenizer(models.BPE.from_file(str(FOLDER / "vocab.json"), str(FOLDER / "merges.txt")))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def literal(text):
    return "".join(chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode())


def numbers(values, form="{}"):
    return "{" + ", ".join(form.format(value) for value in values) + "}"


def byte_pair_cases(tokenizer, texts):
    for text in texts:
        yield f'{{std::string("{literal(text)}", {len(text.encode())}), {numbers(tokenizer.encode(text).ids)}}}'


def left(logits, temperature, top_k, top_p):
    """The tokens to draw from and their probabilities."""
    order = numpy.argsort(-logits, kind="stable")[:top_k or None]
    scores = logits[order].astype(float) / temperature
    probabilities = numpy.exp(scores - scores.max())
    probabilities /= probabilities.sum()
    count = 1 + numpy.sum(numpy.cumsum(probabilities)[:-1] < top_p)
    return order[:count], probabilities[:count] / probabilities[:count].sum()


def sampling_cases():
    rng = numpy.random.default_rng(1)
    for temperature in (0.25, 1, 3):
        for top_k, top_p in ((0, 1), (1, 1), (4, 1), (100, 1), (0, 0.55), (0, 0.9), (0, 1e-9), (5, 0.7)):
            logits = (rng.normal(size=12) * 2).round(1).astype(numpy.float32)  # some are equal
            logits[rng.integers(12)] = logits.max()
            ids, probabilities = left(logits, temperature, top_k, top_p)
            yield (f"{{{numbers(logits, '{:.1f}F')}, {temperature}, {top_k}, {top_p}, "
                   f"{numbers(ids)}, {numbers(probabilities, '{:.17e}')}}}")


def array(kind, name, cases):
    joined = ",\n    ".join(cases)
    return f"inline const std::vector<{kind}> {name}{{\n    {joined}}};\n"


def main():
    train()
    path = pathlib.Path(__file__).with_name("text_golden.hpp")
    plain, special = read(), read()
    special.add_special_tokens([SPECIAL])
    arrays = [array("byte_pair_case", "byte_pair_cases", byte_pair_cases(plain, TEXTS)),
              array("byte_pair_case", "special_token_cases", byte_pair_cases(special, [t for t in TEXTS if SPECIAL in t])),
              array("sampling_case", "sampling_cases", sampling_cases())]
    path.write_text(HEADER.format(version=tokenizers.__version__) + "\n".join(arrays) + "\n}  // namespace glia_golden\n")


main()
