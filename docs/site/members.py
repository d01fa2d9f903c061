#!/usr/bin/env python3
"""Writes docs/members.md: the members of glia's aggregates in their order, as the headers have them.

    docs/site/members.py            writes the page
    docs/site/members.py --check    fails where the page is not what the headers say
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
groups = {
    "Layers": ["dense", "conv2d", "depthwise_conv2d", "separable_conv2d", "conv2d_transpose", "conv1d", "max_pool2d",
               "avg_pool2d", "max_pool1d", "avg_pool1d", "gru", "lstm", "simple_rnn", "multi_head_attention",
               "embedding", "masking", "batch_norm", "layer_norm", "group_norm", "rms_norm", "dropout",
               "gaussian_noise", "positional_encoding"],
    "Losses": ["softmax_cross_entropy", "huber"],
    "Optimizers": ["sgd", "adam", "adamw", "rmsprop", "adagrad"],
    "Models and training": ["model_options", "prepare_options", "trainer_options", "fit_options", "evaluate_options",
                            "early_stopping", "reduce_on_plateau", "checkpoint_options", "profiler_options", "frozen_output_options"],
    "Data": ["csv_options", "split_options", "image_dataset_options", "augmentation", "image_grid_options"],
    "Devices": ["cpu_options", "pjrt_options"],
}
member = re.compile(r"^  (?!static|using|return|friend|//)([\w:<>, *&]+?) (\w+)(?: = ([^;]*)|(\{[^;]*\}))?;(?:\s*///< (.*))?$")


def members_of(header, name):
    lines = header.split("\n")
    at = next(i for i, line in enumerate(lines) if re.match(rf"struct {name} (: [\w:]+ )?{{", line))
    found, above = [], []
    joined = ""
    for line in lines[at + 1:]:
        # Members stand before functions.
        if line.startswith("}") or re.match(r"  (static|template|\[\[|\w+ operator)", line):
            break
        if re.match(r"  /// ", line):
            above.append(line.strip()[4:])
            continue
        joined = f"{joined} {line.strip()}" if joined else line
        if joined.startswith("  ") and not joined.startswith("   ") and "(" not in joined.split("=")[0] and not re.search(r";|\{$", joined):
            continue
        if found_member := member.match(joined):
            kind, called, value, braces, beside = found_member.groups()
            found.append((called, kind, value or braces or "", " ".join(filter(None, [beside, " ".join(above)]))))
        above, joined = [], ""
    return found


def page():
    headers = {path: path.read_text() for path in sorted((root / "include" / "glia").rglob("*.hpp"))
               if path.parent.name != "kernels"}
    text = ["# Members, in order\n", "What may be said in braces, `glia::dense{.units = 10, .activation = glia::relu}`. C++ wants members in the order"
            "\nof the tables; what is left out has its default. Compilers name a misspelt member only where the type is\n"
            "written out: `trainer.fit(data, glia::fit_options{.epochs = 3})`. Written from the headers by `docs/site/members.py`.\n"]
    for group, names in groups.items():
        text.append(f"## {group}\n")
        for name in names:
            path, header = next((p, h) for p, h in headers.items() if re.search(rf"^struct {name} (: [\w:]+ )?{{", h, re.M))
            text.append(f"### {name}\n\n`{path.relative_to(root / 'include')}`\n")
            text.append("| member | default | |\n| --- | --- | --- |")
            found = members_of(header, name)
            assert found, f"{name}: no members found in {path}"
            for called, kind, value, about in found:
                shown = f"`{value}`" if value and value != "{}" else ""
                text.append(f"| `.{called}` | {shown} | {about.replace('|', chr(92) + '|')} |")
            text.append("")
    return "\n".join(text)


written = root / "docs" / "members.md"
if sys.argv[1:] == ["--check"]:
    if written.read_text() != page():
        sys.exit("docs/members.md is not what the headers say: run docs/site/members.py")
else:
    written.write_text(page())
