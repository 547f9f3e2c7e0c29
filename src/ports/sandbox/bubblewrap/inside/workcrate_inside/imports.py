"""Gives matplotlib a backend that shows figures among the results, as soon as the code imports it; not by a variable of the
environment, which every program of a run would see."""

import sys

BACKEND = "module://%s.figures" % __package__
# As in the file matplotlibrc, which is not read where the code has one of its own.
SALT = "workcrate"

# Whom figures.py shows its figures to.
shown_to = None


def watch_imports(results):
    global shown_to
    shown_to = results
    install()


def install():
    """Does nothing the second time, so that the fork server can do it before it preloads."""
    if "matplotlib" in sys.modules:
        prepare(sys.modules["matplotlib"])
    elif not any(isinstance(finder, MatplotlibFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, MatplotlibFinder())


def prepare(matplotlib):
    choose_backend(matplotlib)
    salt_ids(matplotlib)


def salt_ids(matplotlib):
    """The ids in SVGs are the same every time, also after a return to the defaults, unless a salt was chosen."""
    try:
        for params in (matplotlib.rcParams, matplotlib.rcParamsOrig, matplotlib.rcParamsDefault):
            if dict.get(params, "svg.hashsalt") is None:
                params["svg.hashsalt"] = SALT
    except Exception:
        # Not the matplotlib that we know: its ids differ from run to run.
        pass


def choose_backend(matplotlib):
    """Before pyplot is imported; one that was preloaded with another backend gets ours now."""
    try:
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            matplotlib.rcParams["backend"] = BACKEND
        elif dict.get(matplotlib.rcParams, "backend") != BACKEND:
            pyplot.switch_backend(BACKEND)
    except Exception:
        # Not the matplotlib that we know: its figures are not shown then.
        pass


class MatplotlibFinder:
    """Finds matplotlib as the others do, and sees when it has been executed."""

    def find_spec(self, name, path=None, target=None):
        if name != "matplotlib":
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                watch_loader(spec.loader)
                return spec
        return None


def watch_loader(loader):
    execute = getattr(loader, "exec_module", None)
    if execute is None:
        return

    def exec_module(module):
        execute(module)
        prepare(module)

    try:
        loader.exec_module = exec_module
    except AttributeError:
        pass
