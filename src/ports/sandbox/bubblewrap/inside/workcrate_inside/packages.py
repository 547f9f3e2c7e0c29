"""Lets code import what its user has installed: the current environment, before the packages of the system.

It is looked for before every run and every cell, so that what was installed in between is seen at once. What code has
imported already stays as it is.
"""

import os
import site
import sys

FOLDER = "/packages"


class Environment:
    """What was changed for an environment, to change it back for the next one."""

    def __init__(self):
        self.name = None
        self.paths = []
        self.before = (sys.prefix, sys.exec_prefix, sys.executable)

    def renew(self, folder):
        """Looks which environment is current below the folder, and lets code see it; None is for none at all."""
        name = read_current(folder)
        if name == self.name:
            return
        self.leave()
        self.name = name
        if name is not None:
            self.enter("%s/python/%s" % (folder, name))

    def enter(self, environment):
        packages = "%s/lib/python%d.%d/site-packages" % (environment, *sys.version_info[:2])
        try:
            names = sorted(name for name in os.listdir(packages) if name.endswith(".pth"))
        except OSError:
            # It was made for another Python.
            return
        at = find_system_packages()
        sys.path.insert(at, packages)
        before = len(sys.path)
        for name in names:
            site.addpackage(packages, name, set(sys.path))
        further = sys.path[before:]
        del sys.path[before:]
        sys.path[at + 1 : at + 1] = further
        self.paths = [packages] + further
        sys.prefix = sys.exec_prefix = environment
        sys.executable = environment + "/bin/python3"

    def leave(self):
        sys.path[:] = [path for path in sys.path if path not in self.paths]
        self.paths = []
        sys.prefix, sys.exec_prefix, sys.executable = self.before


def read_current(folder):
    try:
        return os.readlink(folder + "/python/current") if folder else None
    except OSError:
        return None


def find_system_packages():
    for at, path in enumerate(sys.path):
        if path.endswith(("site-packages", "dist-packages")):
            return at
    return len(sys.path)


environment = Environment()


def see_packages(folder):
    """Code may have changed anything that this reads; then it sees what it saw before."""
    try:
        environment.renew(folder)
    except Exception:
        pass
