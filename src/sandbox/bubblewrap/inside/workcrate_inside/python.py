"""Runs the code of a Python run as the main module."""

import atexit
import gc
import json
import linecache
import os
import sys
import traceback
import types
import weakref

from .kernel import libc


def read_task(descriptor):
    parts = []
    while True:
        part = os.read(descriptor, 1 << 20)
        if not part:
            break
        parts.append(part)
    os.close(descriptor)
    header, _, code = b"".join(parts).partition(b"\0")
    return json.loads(header)["folder"], code.decode("utf-8", "surrogatepass")


def touch_pages():
    """Does once what every run does, so that copy-on-write has happened before the run starts."""
    main = types.ModuleType("__main__")
    exec(compile("def f(x):\n  return [str(x), {x: x}]\nprint(f(1), end='', file=open('/dev/null', 'w'))", "", "exec"), main.__dict__)
    vars(main).clear()
    gc.collect()


def run_python(descriptor):
    """Runs the code as the main module, and ends as python3 would: threads, atexit, flushing and all."""
    touch_pages()
    folder, code = read_task(descriptor)
    try:
        if folder.startswith(("/tmp/", "/home/user/")):
            os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
    except OSError as error:
        sys.exit("cannot enter the working directory: %s" % error)
    sys.path[0] = ""
    sys.argv[:] = ["main.py"]
    sys.stdout.reconfigure(line_buffering=True)
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    linecache.cache["main.py"] = (len(code), None, code.splitlines(True), "main.py")
    ours = set(sys.modules)
    try:
        exec(compile(code, "main.py", "exec", dont_inherit=True), main.__dict__)
        code = 0
    except SystemExit as asked:
        code = to_exit_code(asked.code)
    except BaseException as error:
        print_traceback(error)
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
    leave(code, main, ours)


def to_exit_code(asked):
    if asked is None or isinstance(asked, int):
        return (asked or 0) & 0xFF
    print(asked, file=sys.stderr)
    return 1


def print_traceback(error):
    """Prints the traceback without the frames of this program. A hook of the user is respected."""
    error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
    if sys.excepthook is not sys.__excepthook__:
        return sys.excepthook(type(error), error, error.__traceback__)
    sys.stdout.flush()
    traceback.print_exception(type(error), error, error.__traceback__)


def leave(code, main, ours):
    """Does what the interpreter does at its end, but tears down only what the run has created.

    To tear down all that was inherited from the fork server takes longer than the run: it copies pages for nothing.
    """
    try:
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        atexit._run_exitfuncs()
        tear_down(main, ours)
    except BaseException as error:
        traceback.print_exception(type(error), error, error.__traceback__)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            code = code or 120
    libc.fflush(None)
    os._exit(code)


def tear_down(main, ours):
    """As CPython does: first what the main module holds, then the modules, then what is still held of those."""
    forget_names(main)
    left = []
    for name in [name for name in sys.modules if name not in ours]:
        module = sys.modules.pop(name)
        if isinstance(module, types.ModuleType):
            left.append(weakref.ref(module))
    module = None
    gc.collect()
    for reference in reversed(left):
        module = reference()
        if module is not None:
            forget_names(module)
    gc.collect()


def forget_names(module):
    """Clears names with an underscore first. All are set to None, since finalizers may still read them."""
    names = vars(module)
    for hidden in (True, False):
        for name in list(names):
            if name != "__builtins__" and (name.startswith("_") and name[1:2] != "_") == hidden:
                names[name] = None
