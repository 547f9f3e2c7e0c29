"""Runs the code of a run or of a cell in a namespace, and shows what it leaves: values, figures, errors."""

import builtins
import linecache
import os
import sys
import traceback

import _ast

from .imports import watch_imports
from .libraries import Libraries
from .opened import ROOTS, OpenedFiles
from .results import Results

OWN_FOLDER = os.path.dirname(__file__)
ONLY_AST = 0x400
VALUE = "__workcrate_value__"


class Cells:
    """Runs one after the other in one namespace. Made before there is anything to run: most of the time goes into that."""

    def __init__(self):
        self.namespace = {}
        self.results = Results()
        self.libraries = Libraries()
        self.opened = OpenedFiles()
        builtins.display = self.results.display
        watch_imports(self.results)
        compile_cell("def f(x):\n  return x\nf(1)", "")

    def attach(self, writer, namespace, roots):
        self.writer = self.results.writer = writer
        self.namespace = namespace
        self.opened.set_roots(roots or ROOTS)

    def run(self, number, name, code):
        """Runs the code and shows its figures, whatever ended it. Gives the error that ended it, or None."""
        self.results.begin(number)
        self.opened.begin()
        error = None
        for step in (lambda: self.execute(name, code), show_figures):
            try:
                step()
            except BaseException as raised:
                error = error or raised
            if isinstance(error, KeyboardInterrupt):
                break
        return error

    def execute(self, name, code):
        compiled, has_value = compile_cell(code, name)
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        self.libraries.note_names(compiled)
        self.namespace.pop(VALUE, None)
        exec(compiled, self.namespace)
        if has_value:
            value = self.namespace.pop(VALUE, None)
            if value is not None:
                self.results.show(value, "value")

    def report(self):
        """Tells all that is told at the end of a cell. A process that the code has forked may come here too."""
        if not self.writer.is_ours():
            return
        for tell in (
            self.results.end,
            lambda: self.opened.end(self.writer, self.results.cell),
            lambda: self.libraries.end(self.writer),
        ):
            try:
                tell()
            except Exception:
                # Code may have changed anything that these read.
                pass


def show_figures():
    """Those of any backend: the code may have chosen another one."""
    pyplot = getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
    if getattr(pyplot, "figs", None):
        from .figures import show_open_figures

        show_open_figures()


def compile_cell(code, name):
    """The compiled code, and whether it ends with an expression whose value it keeps."""
    if code.rstrip().endswith(";"):
        return compile(code, name, "exec", dont_inherit=True), False
    try:
        tree = compile(code, name, "exec", ONLY_AST, dont_inherit=True)
        last = tree.body[-1] if tree.body else None
        if not isinstance(last, _ast.Expr):
            return compile(tree, name, "exec", dont_inherit=True), False
        target = copy_place(_ast.Name(VALUE, _ast.Store()), last.value)
        tree.body[-1] = copy_place(_ast.Assign([target], last.value), last)
        return compile(tree, name, "exec", dont_inherit=True), True
    except RecursionError:
        # A tree may nest deeper than Python shows it.
        return compile(code, name, "exec", dont_inherit=True), False


def copy_place(node, place):
    node.lineno, node.col_offset = place.lineno, place.col_offset
    node.end_lineno, node.end_col_offset = place.end_lineno, place.end_col_offset
    return node


def strip_own_frames(trace):
    """Those above the code, and those that an interrupt left below it."""
    frames = []
    while trace is not None:
        if frames or not is_own(trace):
            frames.append(trace)
        trace = trace.tb_next
    while frames and is_own(frames[-1]):
        frames.pop()
    if not frames:
        return None
    frames[-1].tb_next = None
    return frames[0]


def is_own(trace):
    return trace.tb_frame.f_code.co_filename.startswith(OWN_FOLDER)


def print_error(error):
    """Prints the traceback without the frames of this program. A hook of the user is respected."""
    trace = strip_own_frames(error.__traceback__)
    error.__traceback__ = trace
    if sys.excepthook is not sys.__excepthook__:
        return sys.excepthook(type(error), error, trace)
    if sys.stdout is not None:
        sys.stdout.flush()
    traceback.print_exception(type(error), error, trace)


def print_error_somehow(error):
    """Also if the code has broken what prints errors."""
    try:
        print_error(error)
    except BaseException as second:
        text = "%s (and its traceback could not be printed: %s)\n" % (type(error).__name__, type(second).__name__)
        try:
            os.write(2, text.encode("utf-8", "replace"))
        except OSError:
            pass
