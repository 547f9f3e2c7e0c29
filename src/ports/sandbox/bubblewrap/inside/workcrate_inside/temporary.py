"""Which files code has left in folders that go with it, the home and the temporary folder, so that its answer names them."""

import os

# Whatever code has written there: it takes no longer than this, and says no more.
MOST_ENTRIES = 2000
MOST_DEPTH = 16
MOST_NAMED = 20
MOST_PATH = 300

# What interpreters and their libraries keep for themselves, and what is hidden. As in temporary-files.ts, which looks
# where none of this runs.
CACHES = (".", "__pycache__", "matplotlib-", "node-compile-cache", "pymp-", "v8-compile-cache")


class TemporaryFiles:
    """Remembers what it has named, and names only what is new or changed the next time."""

    def __init__(self):
        temporary = os.environ.get("TMPDIR", "/tmp")
        self.folders = ((temporary if temporary == "/tmp" else "$TMPDIR", temporary), ("~", os.environ.get("HOME", "/home/user")))
        self.seen = {}

    def list_new(self):
        """The files since the last time as JSON has them; None if there are none."""
        found, self.left, self.complete = {}, MOST_ENTRIES, True
        for shown, folder in self.folders:
            self.list_below(shown, folder, 0, found)
        new = sorted(path for path, state in found.items() if self.seen.get(path) != state)
        self.seen = found
        if not new and self.complete:
            return None
        files = [
            {"path": os.fsencode(path).decode("utf-8", "replace")[:MOST_PATH], "size": found[path][1]}
            for path in new[:MOST_NAMED]
        ]
        return {"files": files, "more": len(new) - len(files), "complete": self.complete}

    def list_below(self, shown, folder, depth, found):
        folders = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith(CACHES):
                        continue
                    self.left -= 1
                    if self.left < 0:
                        self.complete = False
                        return
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry)
                    elif entry.is_file(follow_symlinks=False):
                        state = entry.stat(follow_symlinks=False)
                        found[shown + "/" + entry.name] = (state.st_ino, state.st_size, state.st_mtime_ns)
        except FileNotFoundError:
            return
        except OSError:
            self.complete = False
            return
        if folders and depth == MOST_DEPTH:
            self.complete = False
            return
        for entry in folders:
            if self.left < 0:
                return
            self.list_below(shown + "/" + entry.name, entry.path, depth + 1, found)
