"""Runs the code of a Python run as the main module, or becomes the router of a session."""

import atexit
import gc
import json
import os
import sys
import traceback
import types
import weakref

from .cells import Cells, print_error
from .frames import FrameWriter
from .kernel import libc
from .libraries import list_new_modules
from .packages import FOLDER, find_system_packages, see_packages
from .preload import read_local_matplotlibrc

REPORTS = 4
SESSION = b'{"session"'


def read_start(descriptor):
    """As much of the task as tells whether it is that of a session. The rest of that has a secret, so it is not read here."""
    start = b""
    while len(start) < len(SESSION):
        part = os.read(descriptor, len(SESSION) - len(start))
        if not part:
            break
        start += part
    return start


def read_task(start, descriptor):
    """The header and the code of a run."""
    parts = [start]
    while True:
        part = os.read(descriptor, 1 << 20)
        if not part:
            break
        parts.append(part)
    os.close(descriptor)
    header, _, code = b"".join(parts).partition(b"\0")
    return json.loads(header), code.decode("utf-8", "surrogatepass")


def touch_pages():
    """Does once what every run does, so that copy-on-write has happened before the run starts."""
    main = types.ModuleType("__main__")
    exec(compile("def f(x):\n  return [str(x), {x: x}]\nprint(f(1), end='', file=open('/dev/null', 'w'))", "", "exec"), main.__dict__)
    vars(main).clear()
    gc.collect()


def run_python(descriptor, with_relay=False):
    """Runs the code as the main module, and ends as python3 would: threads, atexit, flushing and all."""
    touch_pages()
    cells = Cells()
    start = read_start(descriptor)
    if start == SESSION:
        from .router import run_router

        return run_router(descriptor, REPORTS, start, cells, with_relay)
    header, code = read_task(start, descriptor)
    os.environ.update(header.get("environment", ()))
    enter_folder(header["folder"])
    see_packages(header.get("packages", FOLDER))
    if "tools" in header:
        # Before the packages: one of them is named mcp too.
        sys.path.insert(find_system_packages(), header["tools"])
    sys.argv[:] = ["main.py"]
    sys.stdout.reconfigure(line_buffering=True)
    main = make_main()
    ours = cells.libraries.known
    cells.attach(FrameWriter(REPORTS, bytes.fromhex(header["secret"])), main.__dict__, header.get("roots"))
    status = get_exit_code(cells.run(0, "main.py", code))
    leave(status, main, ours, cells)


def enter_folder(folder):
    try:
        if folder.startswith(("/tmp/", "/home/user/")):
            os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        read_local_matplotlibrc()
    except OSError as error:
        sys.exit("cannot enter the working directory: %s" % error)
    sys.path[0] = ""


def make_main():
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    return main


def get_exit_code(error):
    """Prints the error that ended the code, if there is one, and gives the exit code that follows from it."""
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        return to_exit_code(error.code)
    print_error(error)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def to_exit_code(asked):
    if asked is None or isinstance(asked, int):
        return (asked or 0) & 0xFF
    print(asked, file=sys.stderr)
    return 1


def leave(code, main, ours, cells):
    """Does what the interpreter does at its end, but tears down only what the run has created.

    To tear down all that was inherited from the fork server takes longer than the run: it copies pages for nothing.
    """
    try:
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        atexit._run_exitfuncs()
        cells.report()
        tear_down(main, ours)
    except BaseException as error:
        traceback.print_exception(type(error), error, error.__traceback__)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            code = code or 120
    cells.writer.finish()
    libc.fflush(None)
    os._exit(code)


def tear_down(main, ours):
    """As CPython does: first what the main module holds, then the modules, then what is still held of those."""
    forget_names(main)
    left = []
    for name in list_new_modules(ours):
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
