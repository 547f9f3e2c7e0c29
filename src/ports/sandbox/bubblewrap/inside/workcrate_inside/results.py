"""Shows values as a notebook does: the last expression, display(), and what their _repr_*_ methods give, without IPython.

Methods of the user's objects may raise, give wrong types or too much: the rest of the result is shown then.
"""

import base64
import json
import sys

from .frames import MOST_PAYLOAD
from .tables import describe_array, describe_table

MOST_RESULTS = 16
MOST_PARTS = 16
MOST_TEXT = 2000
MOST_WHOLE_TEXT = 10_000_000
MOST_ELEMENTS = 100_000

METHODS = (
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
    ("_repr_pdf_", "application/pdf"),
)
ENDINGS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/svg+xml": "svg",
    "text/html": "html",
    "text/markdown": "md",
    "text/latex": "tex",
    "text/plain": "txt",
    "application/pdf": "pdf",
}


class Shown:
    """One result: its text, its size if it is a table, and its other forms."""

    def __init__(self, text, rows=None, columns=None, parts=()):
        self.text = text
        self.rows = rows
        self.columns = columns
        self.parts = list(parts)


class Results:
    """The results of one cell after the other. Those beyond the first 16 are only counted."""

    def __init__(self):
        self.writer = None
        self.cell = 0
        self.is_muted = lambda: False
        self.begin(0)

    def begin(self, cell):
        self.cell = cell
        self.shown = 0
        self.beyond = 0
        self.figures = 0

    def has_room(self):
        if self.shown < MOST_RESULTS:
            return True
        self.beyond += 1
        return False

    def show(self, value, kind):
        if self.is_muted():
            return
        if not self.writer.is_ours():
            return print(describe_value(value).text)
        if is_figure(value):
            from .figures import show_figure

            return show_figure(value)
        if self.has_room():
            self.send(kind, describe_value(value))

    def display(self, *values, **options):
        """Shows values among the results of the cell, as pictures, tables or text."""
        for value in values:
            self.show(value, "display")

    def send(self, kind, shown):
        self.shown += 1
        number = self.shown
        if kind == "figure":
            self.figures += 1
            number = self.figures
        parts = shown.parts[:MOST_PARTS]
        cut = len(shown.text) > MOST_TEXT
        if cut:
            whole = shown.text[:MOST_WHOLE_TEXT].encode("utf-8", "backslashreplace")[:MOST_WHOLE_TEXT]
            parts.append(("text/plain", whole))
        kept = choose_parts(parts)
        header = {"type": "result", "cell": self.cell, "kind": kind, "text": cut_text(shown.text), "cut": cut}
        if shown.rows is not None:
            header["rows"] = shown.rows
        if shown.columns is not None:
            header["columns"] = shown.columns
        if len(kept) < len(parts):
            header["dropped"] = len(parts) - len(kept)
        stem = "figure" if kind == "figure" else "result"
        header["parts"] = [
            {"mime": mime, "size": len(data), "name": "%s-%d.%s" % (stem, number, get_ending(mime))} for mime, data in kept
        ]
        self.writer.write(header, b"".join(data for _, data in kept))

    def end(self):
        if self.beyond > 0:
            self.writer.write({"type": "more", "cell": self.cell, "results": self.beyond})


def get_ending(mime):
    return ENDINGS.get(mime) or ("json" if mime.endswith("json") else "bin")


def choose_parts(parts):
    """As many as a frame holds."""
    kept, left = [], MOST_PAYLOAD
    for mime, data in parts:
        if 0 < len(data) <= left:
            left -= len(data)
            kept.append((mime, data))
    return kept


def cut_text(text):
    """At the end of a line, if one is near: half a row of a table misleads."""
    if len(text) <= MOST_TEXT:
        return text
    text = text[:MOST_TEXT]
    end = text.rfind("\n")
    return text[:end] if end > MOST_TEXT * 3 // 4 else text


def is_figure(value):
    kind = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    return isinstance(kind, type) and isinstance(value, kind)


def describe_value(value):
    table = guard(describe_table, value)
    if table is not None:
        text, rows, columns, html = table
        return Shown(text, rows, columns, [("text/html", html.encode("utf-8", "backslashreplace"))] if html else [])
    parts = collect_parts(value)
    plain = parts.pop("text/plain", None)
    text = plain.decode("utf-8", "replace") if plain is not None else guard(describe_array, value)
    return Shown(represent(value) if text is None else text, parts=list(parts.items()))


def guard(call, *values):
    """What a call gives, or None if it raises. Only an interrupt goes on."""
    try:
        return call(*values)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def represent(value):
    try:
        return represent_long(value) or str.__str__(repr(value))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        kind = type.__getattribute__(type(value), "__name__")
        return "<%s, whose repr raised %s: %s>" % (kind, type(error).__name__, (guard(str, error) or "")[:500])


def represent_long(value):
    """Of a container or text so long that all of it would take seconds, the first part."""
    kind = type(value)
    if kind in (str, bytes) and len(value) > MOST_WHOLE_TEXT:
        return repr(value[:MOST_WHOLE_TEXT])
    if kind in (list, tuple, set, frozenset, dict) and len(value) > MOST_ELEMENTS:
        first = [element for element, _ in zip(value.items() if kind is dict else value, range(MOST_ELEMENTS))]
        start = repr(dict(first) if kind is dict else first)[1:-1]
        return "%s of %d, beginning with %s, ..." % (kind.__name__, len(value), start)
    return None


def collect_parts(value):
    """Every form that the value's class gives, by its MIME type. Asked of the class: an object may have any attribute."""
    kind = type(value)
    parts = {}
    bundle = guard(call_method, kind, "_repr_mimebundle_", value, {"include": None, "exclude": None})
    if isinstance(bundle, dict):
        for mime, data in list(bundle.items())[:MOST_PARTS]:
            add_part(parts, mime, data)
    for name, mime in METHODS:
        if mime not in parts:
            add_part(parts, mime, guard(call_method, kind, name, value, {}))
    return parts


def call_method(kind, name, value, options):
    method = getattr(kind, name, None)
    if method is None:
        return None
    result = method(value, **options)
    # IPython lets them add metadata.
    return result[0] if isinstance(result, tuple) and len(result) == 2 else result


def add_part(parts, mime, data):
    if data is None or not isinstance(mime, str) or not 0 < len(mime) < 100 or not mime.isascii() or "/" not in mime:
        return
    encoded = guard(encode_part, str.__str__(mime).lower(), data)
    if encoded is not None and len(encoded) <= MOST_PAYLOAD:
        parts[str.__str__(mime).lower()] = encoded


def encode_part(mime, data):
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(memoryview(data))
    is_text = mime.startswith("text/") or mime.endswith(("xml", "javascript"))
    if isinstance(data, str) and mime.endswith("json"):
        return str.encode(data, "utf-8", "backslashreplace")
    if isinstance(data, str):
        return str.encode(data, "utf-8", "backslashreplace") if is_text else base64.b64decode(data, validate=True)
    if mime.endswith("json"):
        return json.dumps(data).encode()
    return None
