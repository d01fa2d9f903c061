#!/usr/bin/env python3
"""Reads glia's headers and writes the entries of the reference: description, signature, options and members.

    docs/site/reference.py NAME...    prints entries, such as of glia::dense or glia::ops::exp
    docs/site/reference.py --check    fails where a public name has no entry in docs/reference, or an entry no header

A page asks for an entry by a line `::: glia::dense`."""

import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
PAGES = ROOT / "docs" / "reference"
DIRECTIVE = re.compile(r"^::: ([\w:]+)$", re.M)


@dataclasses.dataclass
class Declaration:
    """A class, function, alias or object at the level of a namespace."""
    name: str
    header: pathlib.Path
    comment: list  # its lines
    text: str  # up to its body
    body: list  # of a class: its lines
    overloads: list = dataclasses.field(default_factory=list)

    @property
    def is_class(self):
        return bool(re.match(r"(template <.*> )?(requires.*? )?(struct|class)\b", self.text, re.S))


def declarations(header):
    """The declarations of a header, in order, in namespaces other than detail."""
    lines = header.read_text().split("\n")
    namespaces, comment, row = [], [], 0
    while row < len(lines):
        line = lines[row]
        row += 1
        if opened := re.match(r"namespace ([\w:]+) \{$", line):
            namespaces.append(opened.group(1))
            comment = []
        elif re.match(r"\}  // namespace", line):
            namespaces.pop()
            comment = []
        elif line.startswith("///"):
            comment.append(line[4:])
        elif not line or line.startswith(("#", "//", "}", " ", "using namespace", "static_assert", "GLIA_", "extern")):
            comment = [] if not line else comment
        else:
            text, depth = line, line.count("(") - line.count(")")
            while not re.search(r"[{;]$|[{;]\s*//.*$|\}$", text) or depth > 0:
                if row >= len(lines):
                    break
                text += " " + lines[row].strip()
                depth = text.count("(") - text.count(")")
                row += 1
            body = []
            if text.endswith("{") or (lines[row - 1].endswith("{")):
                while row < len(lines) and not lines[row].startswith("}"):
                    body.append(lines[row])
                    row += 1
                row += 1
            space = "::".join(namespaces)
            if comment and space.startswith("glia") and "detail" not in space and (name := name_of(text)):
                yield Declaration(f"{space}::{name}", header, comment, text, body)
            comment = []


def name_of(text):
    plain = without_templates(re.sub(r"\[\[\w+\]\] ?|requires\(.*?\) |alignas\(.*?\) ", "", text))
    if found := re.match(r"(?:struct|class|enum class|concept|using) (\w+)", plain):
        return found.group(1)
    if "operator" in plain:
        return None
    if found := re.search(r"(\w+)\(", plain):
        return found.group(1)
    found = re.match(r"inline (?:constexpr|const) [\w:]+(?:<[^>]*>)? (\w+)", plain)
    return found.group(1) if found else None


def without_templates(text):
    """Without `template <...>`, requirements and what is in angle brackets."""
    while found := re.match(r"template <", text):
        depth, i = 1, found.end()
        while depth:
            depth += {"<": 1, ">": -1}.get(text[i], 0)
            i += 1
        text = text[i:].lstrip()
        if text.startswith("requires "):
            text = re.sub(r"^requires\s*(\(.*?\)\s|[\w:]+<[^>]*>\s|requires.*?\}\s)(&& \S+ )*", "", text).lstrip()
    return text


def signature(text):
    """A declaration as a user reads it."""
    text = without_templates(re.sub(r"\s+", " ", text))
    text = re.sub(r"\[\[\w+\]\] ?|\bGLIA_INLINE |\binline |\bconstexpr |\bexplicit |\bstatic |\bfriend | noexcept\b", "", text)
    text = re.sub(r"(\)(?: const)?(?: override)?) \{ .*\}$", r"\1", text)  # a body in the same line
    text = re.sub(r"\s*(\{|;|: \w.*\{|= delete;)\s*(//.*)?$", "", text)
    text = re.sub(r"variable<B>", "variable", text)
    text = re.sub(r"typename B::tensor", "tensor", text)
    text = re.sub(r" requires .*$", "", text)
    return text.strip()


def options(body):
    """(name, type, default, description) of the public data members of a class."""
    found, comment, declaration, beside = [], [], "", []
    member = re.compile(r"(?!static|using|return|friend|explicit|template|struct|enum|class)([\w:<>, *&()]+) (\w+)(?: = (.*)|(\{.*\}))?;")
    for line in body:
        code, _, text = line.strip().partition("///<")
        if line.startswith(" private:"):
            break
        if line.startswith("  ///") and not code.startswith("///<") and code.startswith("///"):
            comment.append(code[4:])
        elif not code and text and found and not declaration:  # more of the comment beside the last member
            found[-1][3].append(text.strip())
        elif not code or code.startswith("//"):
            comment = comment if declaration else []
        elif line.startswith("  "):
            declaration = f"{declaration} {code.strip()}".strip()
            beside += [text.strip()] if text else []
            function = is_function(declaration)
            if re.search("[;}]$" if function else ";$", declaration) and declaration.count("{") == declaration.count("}"):
                if not function and (match := member.fullmatch(declaration)):
                    kind, name, value, braces = match.groups()
                    found.append([name, kind, value or braces or "", comment + beside])
                comment, declaration, beside = [], "", []
    return [(name, kind, default, " ".join(text)) for name, kind, default, text in found]


def is_function(declaration):
    """Whether there is a parenthesis outside of angle brackets before the default."""
    before, depth = re.split(r" = |\{", declaration)[0], 0
    for sign in before:
        depth += {"<": 1, ">": -1}.get(sign, 0)
        if sign == "(" and depth == 0:
            return True
    return False


def functions(body):
    """(signature, comment) of the public, documented member functions."""
    public, comment, row, found = True, [], 0, []
    while row < len(body):
        line = body[row]
        row += 1
        if marker := re.match(r" (public|private|protected):", line):
            public, comment = marker.group(1) == "public", []
        elif re.match(r"  /// ?", line):
            comment.append(line.strip()[4:])
        elif re.match(r"  \S", line) and not re.match(r"  (//|\}|using|static_assert|#)", line):
            text = line.strip()
            while not re.search(r"[{;]\s*(//.*)?$|\}$", text) and row < len(body):
                text += " " + body[row].strip()
                row += 1
            code = text.split("///<")[0]
            if public and comment and is_function(code) and not re.match(r"(friend|struct|class|enum)\b", code):
                code = re.sub(r"\) *(const)? *(noexcept)? *(: \w.*)?\{.*$", r") \1", code)
                found.append((signature(code), list(comment)))
            comment = []
        elif not line.strip():
            comment = []
    return found


def markdown(lines):
    """A comment as Markdown: indented code becomes a block, lists and paragraphs stay."""
    out, code = [], []
    for line in lines + [""]:
        if line.startswith("    ") or (code and not line):
            code.append(line[4:])
            continue
        if code:
            while code and not code[-1]:
                code.pop()
            kind = "cpp" if re.search(r"[;{]|glia::|\w\(", "\n".join(code)) and "glia" in "\n".join(code) else "text"
            out += [f"```{kind}", *code, "```", ""]
            code = []
        out.append(line)
    text = "\n".join(out).strip()
    # Errors stand apart.
    return re.sub(r"(?:^|(?<=[.)] )|(?<=\n))(Throws )", r"\n\n**Errors.** \1", text, count=1)


# The headers in backends/ whose names are public.
BACKENDS = {"about.hpp", "backend.hpp", "bfloat16.hpp", "compilations.hpp", "cpu.hpp", "cpu_backend.hpp", "cpu_products.hpp", "device.hpp", "program.hpp", "recorder.hpp", "reference.hpp"}


def index():
    """All declarations by their full names."""
    found = {}
    for header in sorted(INCLUDE.rglob("*.hpp")):
        relative = header.relative_to(INCLUDE / "glia").parts
        if relative[0] in ("compiled", "backends") and header.name not in BACKENDS:
            continue
        for one in declarations(header):
            if one.name in found:
                found[one.name].overloads.append(one)
            else:
                found[one.name] = one
    return found


def cell(text):
    return text.replace("|", "\\|")


def entry(name, known):
    if name not in known:
        raise KeyError(f"no header declares {name} with a comment")
    one = known[name]
    out = []
    every = [one, *one.overloads]
    if not one.is_class:
        signatures = [signature(each.text) for each in every if not each.text.startswith("concept")]
        out += ["```cpp", *dict.fromkeys(signatures), "```", ""]
    for each in every:
        out += [markdown(each.comment), ""]
    if one.is_class:
        if members := options(one.body):
            out += ["| Option | Type | Default | Description |", "| --- | --- | --- | --- |"]
            out += [f"| `{name}` | `{cell(kind)}` | {f'`{cell(default)}`' if default else ''} | {cell(text)} |" for name, kind, default, text in members]
            out.append("")
        if members := functions(one.body):
            out += ["**Members**", ""]
            for code, comment in members:
                text = markdown(comment).replace("\n", "\n    ")
                out += [f"-   `{code}`", "", f"    {text}", ""]
    out.append(f"Header: `<{one.header.relative_to(INCLUDE)}>`")
    return "\n".join(out)


# The public names that must have an entry: (what they are, folders, how their declaration looks).
KINDS = [
    ("layer", ["layers"], lambda d: d.is_class and any("type_name" in line for line in d.body)),
    ("activation", ["layers"], lambda d: re.search(r"inline constexpr activation \w+", d.text)),
    ("initializer", ["layers"], lambda d: re.match(r"(?:\[\[nodiscard\]\] )?(?:inline )?initializer \w+\(", d.text)),
    ("op", ["ops"], lambda d: d.name.startswith("glia::ops::") and "(" in d.text and not d.is_class),
    ("loss", ["losses"], lambda d: d.is_class and any("description()" in line for line in d.body)),
    ("metric", ["training"], lambda d: re.match(r"(?:\[\[nodiscard\]\] )?(?:inline )?metric \w+\(", d.text)),
    ("optimizer", ["optimizers"], lambda d: d.is_class and any(re.search(r"\bvoid apply\(", line) for line in d.body)),
    ("schedule", ["optimizers"], lambda d: re.match(r"(?:\[\[nodiscard\]\] )?(?:inline )?schedule \w+\(", d.text)),
    ("callback", ["training"], lambda d: d.is_class and any(re.search(r"operator\(\)\(const training&", line) for line in d.body)),
    ("data set", ["data", "image", "video"], lambda d: d.is_class and any(re.search(r"\bvoid (input|sample)\(std::size_t", line) for line in d.body)),
]


# Parts of glia that programs do not name.
PLUMBING = {"glia::any_loss", "glia::any_optimizer", "glia::image_bytes", "glia::progress_bar"}


def required(known):
    for one in known.values():
        if one.name in PLUMBING:
            continue
        folder = one.header.relative_to(INCLUDE / "glia").parts[0]
        for kind, folders, matches in KINDS:
            if folder in folders and matches(one):
                yield kind, one
                break


def check():
    known = index()
    asked = {name: page for page in sorted(PAGES.glob("*.md")) for name in DIRECTIVE.findall(page.read_text())}
    wrong = [f"{page.relative_to(ROOT)}: no header declares {name} with a comment" for name, page in asked.items() if name not in known]
    count = {}
    for kind, one in required(known):
        count[kind] = count.get(kind, 0) + 1
        if one.name not in asked:
            wrong.append(f"{one.header.relative_to(ROOT)}: the {kind} {one.name} has no entry in docs/reference")
    wrong += [f"no header declares any {kind}: its pattern in KINDS no longer matches" for kind, _, _ in KINDS if kind not in count]
    for line in wrong:
        print(line, file=sys.stderr)
    print(", ".join(f"{number} {kind}{'es' if kind.endswith('s') else 's'}" for kind, number in count.items()) + f": {len(asked)} entries, {len(wrong)} complaints")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    known = index()
    for name in sys.argv[1:]:
        print(entry(name, known), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
