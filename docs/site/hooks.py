"""MkDocs hooks: entries of the reference from the headers, pages from outside of docs, links to files of the project."""

import pathlib
import posixpath
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import reference  # noqa: E402
from mkdocs.structure.files import File  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Pages that the site has, but that lie outside of docs.
OUTSIDE = {"CHANGELOG.md": "changelog.md"}
OUTSIDE.update({str(page.relative_to(ROOT)): f"results/{page.name}" for page in sorted((ROOT / "benchmarks/results").glob("*.md"))})
known = reference.index()


def on_files(files, config):
    for source, uri in OUTSIDE.items():
        files.append(File.generated(config, uri, content=(ROOT / source).read_text()))
    files.append(File.generated(config, "stylesheets/glia.css", abs_src_path=str(ROOT / "docs/site/extra.css")))
    return files


def source_of(page):
    """The path of a page's file in the project."""
    uri = page.file.src_uri
    return next((source for source, outside in OUTSIDE.items() if outside == uri), f"docs/{uri}")


def link(page, text, target):
    if re.match(r"[a-z]+:|#", target):
        return f"[{text}]({target})"
    path, _, anchor = target.partition("#")
    to = posixpath.normpath(posixpath.join(posixpath.dirname(source_of(page)), path))
    if to == "README.md":
        to = "docs/index.md"
    if to in OUTSIDE:
        uri = OUTSIDE[to]
    elif to.startswith("docs/") and to.endswith((".md", ".svg", ".png")):
        uri = to[len("docs/"):]
    else:
        if not (ROOT / to).exists():
            return f"[{text}]({target})"  # MkDocs complains
        return text if posixpath.basename(to.rstrip("/")) in text else f"{text} (`{to}`)"
    relative = posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or ".")
    return f"[{text}]({relative}{'#' + anchor if anchor else ''})"


def programs(folder):
    """The programs of a folder, each with its output."""
    for source in sorted((ROOT / folder).glob("*.cpp")):
        yield f"## {source.stem}\n\n```cpp\n{source.read_text()}```\n\nOutput:\n\n```text\n{source.with_suffix('.txt').read_text()}```\n"


def on_page_markdown(markdown, page, **_):
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.S | re.M)
    for i in range(0, len(parts), 2):  # outside of code
        parts[i] = re.sub(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)", lambda m: link(page, m[1], m[2]), parts[i])
        parts[i] = re.sub(r"^<!-- the site has the programs of (\S+) here -->$", lambda m: "\n".join(programs(m[1])), parts[i], flags=re.M)
    text = "".join(parts)
    return reference.DIRECTIVE.sub(lambda m: reference.entry(m[1], known), text)
