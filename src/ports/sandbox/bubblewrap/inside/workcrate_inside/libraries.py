"""Names the installed libraries that the code imported, with their versions.

Not with importlib.metadata, whose import alone takes longer than a small run: the folder beside a library that holds its
metadata has both in its name.
"""

import os
import re
import sys
import types

MOST_LIBRARIES = 200
METADATA = re.compile(r"(.+?)-(\d[^-]*)(?:-.*)?\.(?:dist-info|egg-info)$")
SIMPLE_REQUIREMENT = re.compile(r"(?:Requires-Dist:\s*)?([A-Za-z0-9][A-Za-z0-9._-]*)")
SYSTEM = {os.path.dirname(os.__file__), os.path.join(os.path.dirname(os.__file__), "lib-dynload")}


def normalize(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def find_folder(name):
    """The folder that holds a top-level module, or None if it came with Python or is not a file."""
    module = sys.modules.get(name)
    if not isinstance(module, types.ModuleType):
        return None
    places = getattr(module, "__path__", None)
    place = list(places)[0] if places else getattr(module, "__file__", None)
    folder = os.path.dirname(place) if isinstance(place, str) else None
    return None if folder in SYSTEM else folder


class Snapshot:
    """The modules that are loaded before any code of the user runs, and which of them are libraries."""

    def __init__(self):
        self.known = frozenset(sys.modules)
        libraries = {name for name in self.known if "." not in name and name[:1] != "_" and find_folder(name)}
        self.preloaded = libraries - {__package__}

    def list_libraries(self):
        """As many as an event has room for."""
        return sorted(self.preloaded)[:MOST_LIBRARIES]


snapshot = None


def take_snapshot():
    """Of the fork server, once: to look at every module in every run would copy the memory of them all."""
    global snapshot
    snapshot = Snapshot()
    return snapshot


def list_new_modules(known):
    """Modules are in the order in which they came, so that the old ones need not be looked at."""
    found, old = [], 0
    for name in reversed(sys.modules):
        if name not in known:
            found.append(name)
        elif old < 50:
            old += 1
        else:
            break
    return found[::-1]


class Libraries:
    def __init__(self):
        at_start = snapshot or Snapshot()
        self.known = at_start.known
        # Of these, only what the code names has been imported by it.
        self.preloaded = set(at_start.preloaded)
        self.folders = {}
        self.versions = {}

    def note_names(self, code):
        """Notes preloaded libraries that compiled code names."""
        if self.preloaded:
            self.add_preloaded({name.partition(".")[0] for name in collect_names(code)} & self.preloaded)

    def add_preloaded(self, names):
        for name in names:
            self.preloaded.discard(name)
            self.add(name)

    def end(self, writer):
        """Tells what has been imported since the last time."""
        new = list_new_modules(self.known)
        if new:
            self.known = self.known.union(new)
        for name in new:
            if "." in name:
                continue
            if not self.add(name) and self.preloaded:
                self.add_preloaded(find_used_modules(name) & self.preloaded)
        if self.versions:
            # The cheapest bound of all: a session tells more with its next cell.
            chosen = dict(sorted(self.versions.items())[:MOST_LIBRARIES])
            self.versions = {}
            writer.write({"type": "libraries", "versions": chosen})

    def add(self, name):
        folder = find_folder(name)
        if folder is None:
            return False
        found = self.find_distribution(folder, name)
        if found is None:
            return False
        title, version, place = found
        self.versions[title] = version
        # What it needs was imported with it, long before the code began.
        if self.preloaded and place is not None:
            needed = {normalize(needed) for needed in read_requirements(place)}
            self.add_preloaded({other for other in self.preloaded if normalize(other) in needed})
        return True

    def find_distribution(self, folder, name):
        listed = self.list_distributions(folder)
        found = listed.get(normalize(name)) or find_by_top_level(listed, name)
        if found is not None:
            return found
        version = getattr(sys.modules.get(name), "__version__", None)
        is_library = os.path.basename(folder) in ("site-packages", "dist-packages")
        return (name, version[:100], None) if is_library and isinstance(version, str) else None

    def list_distributions(self, folder):
        if folder not in self.folders:
            self.folders[folder] = {}
            try:
                for entry in os.listdir(folder):
                    match = METADATA.match(entry)
                    if match:
                        self.folders[folder][normalize(match[1])] = (match[1], match[2], os.path.join(folder, entry))
            except OSError:
                pass
        return self.folders[folder]


def find_by_top_level(listed, name):
    """PIL is of Pillow, and yaml of PyYAML."""
    for found in listed.values():
        try:
            with open(os.path.join(found[2], "top_level.txt"), encoding="utf-8") as file:
                if name in file.read(65536).split():
                    return found
        except (OSError, UnicodeError):
            pass
    return None


def read_requirements(place):
    for name in ("METADATA", "requires.txt"):
        try:
            with open(os.path.join(place, name), encoding="utf-8") as file:
                lines = file.read(262144).split("\n")
        except (OSError, UnicodeError):
            continue
        if name == "METADATA":
            lines = [line for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line]
        elif "[" in "".join(line[:1] for line in lines):
            lines = lines[: next(number for number, line in enumerate(lines) if line[:1] == "[")]
        return [match[1] for match in map(SIMPLE_REQUIREMENT.match, lines) if match]
    return []


def find_used_modules(name):
    """The top-level names of modules that a module of the user's own holds."""
    values = list(vars(sys.modules[name]).values()) if isinstance(sys.modules.get(name), types.ModuleType) else []
    found = (value.__name__ if type(value) is types.ModuleType else getattr(value, "__module__", None) for value in values)
    return {each.partition(".")[0] for each in found if isinstance(each, str)}


def collect_names(code):
    waiting = [code]
    while waiting:
        code = waiting.pop()
        yield from code.co_names
        waiting.extend(part for part in code.co_consts if isinstance(part, types.CodeType))
