"""Prints the documentation of the Python source on stdin, as a line of JSON. It parses the source and runs none of it."""
import ast
import io
import json
import sys
import tokenize

MAX_ITEMS = 1000
MAX_SIGNATURE = 500
MAX_DOC = 20_000
MAX_CUTS = 10


def parse(lines):
    """What can be parsed: all of it, or what is before a syntax error."""
    problem = None
    for _ in range(MAX_CUTS):
        try:
            return ast.parse("".join(lines)), problem
        except SyntaxError as error:
            line = max(1, min(error.lineno or 1, len(lines)))
            problem = problem or f"Line {line}: {error.msg}. What follows may be missing."
            lines = lines[: line - 1]
    return ast.parse(""), problem


def inner_blocks(node):
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, None) or []
    for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
        yield part.body


def definitions(body, prefix=""):
    """Those that others can call: nothing inside of a function."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from definitions(node.body, f"{prefix}{node.name}.")
        else:
            for block in inner_blocks(node):
                yield from definitions(block, prefix)


def signature(lines, node):
    """As it is written, up to the colon before the body."""
    start = node.lineno - 1
    rest = iter(range(start, len(lines)))
    depth = length = 0
    for token in tokenize.generate_tokens(lambda: lines[next(rest)]):
        row, column = token.start
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        length += len(token.string)
        if length > MAX_SIGNATURE or (token.string == ":" and depth == 0):
            head = [*lines[start : start + row - 1], lines[start + row - 1][:column]]
            text = " ".join("".join(head).split())
            return text if length <= MAX_SIGNATURE else text[: MAX_SIGNATURE - 1] + "…"
    return ""


def read(source):
    lines = io.StringIO(source, newline=None).readlines()
    tree, problem = parse(lines)
    items = []
    for name, node in definitions(tree.body):
        if len(items) == MAX_ITEMS:
            break
        is_class = isinstance(node, ast.ClassDef)
        items.append({
            "name": name,
            "kind": "class" if is_class else "method" if "." in name else "function",
            "signature": signature(lines, node),
            "doc": (ast.get_docstring(node) or "")[:MAX_DOC],
            "line": node.lineno,
        })
    return {"module": (ast.get_docstring(tree) or "")[:MAX_DOC], "items": items, "problem": problem}


try:
    told = read(sys.stdin.buffer.read().decode("utf-8-sig"))
except (RecursionError, MemoryError, OverflowError):
    told = {"module": "", "items": [], "problem": "It is nested too deeply for Python to parse it."}
print("documentation", json.dumps(told))
