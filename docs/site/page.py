#!/usr/bin/env python3
"""Turns a page as GitHub shows it into one as Doxygen reads it: headings can be linked to by GitHub's
names for them, and files that the site does not have are named in place of linked to."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {*ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/results/*.md"), ROOT / "CHANGELOG.md"}


def slug(heading):
    """The name that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]|\]\([^)]*\)", "", heading).lower())
    return kept.strip().replace(" ", "-")


def label(page, anchor):
    return "_".join([*page.relative_to(ROOT).with_suffix("").parts, anchor]).replace("-", "_")


def link(page, text, target):
    path, _, anchor = target.partition("#")
    if re.match(r"[a-z]+:", target):
        return f"[{text}]({target})"
    to = (page.parent / path).resolve() if path else page
    if to == ROOT / "README.md":
        to = ROOT / "docs" / "index.md"
    if to not in PAGES:
        if not to.exists():
            sys.exit(f"{page}: the link to {target} leads nowhere")
        name = str(to.relative_to(ROOT))
        return text if name in text else f"{text} (`{name}`)"
    return f"[{text}](#{label(to, anchor)})" if anchor else f"[{text}]({to})"


def programs(folder):
    """The programs of a folder, each with what it prints."""
    for source in sorted(folder.glob("*.cpp")):
        yield f"## {source.stem} {{#{label(source, 'program')}}}"
        yield from ["", "```cpp", *source.read_text().splitlines(), "```", ""]
        yield from ["prints", "", "```", *source.with_suffix(".txt").read_text().splitlines(), "```", ""]


def main():
    page = pathlib.Path(sys.argv[1]).resolve()
    fenced = False
    seen = {}
    for line in page.read_text().splitlines():
        fenced ^= line.startswith("```")
        if not fenced and not line.startswith("```"):
            line = re.sub(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)", lambda m: link(page, m[1], m[2]), line)
            heading = re.match(r"#{2,} +(.*)", line)
            if heading:
                name = slug(heading[1])
                seen[name] = seen.get(name, -1) + 1
                name += f"-{seen[name]}" if seen[name] else ""
                line += f" {{#{label(page, name)}}}"
        print(line)
        for_site = re.fullmatch(r"<!-- the site has the programs of (\S+) here -->", line)
        if for_site:
            print(*programs(ROOT / for_site[1]), sep="\n")


if __name__ == "__main__":
    main()
