"""What the first process of a run prepares if its code may call tools: a connection, and files that say how to use it.

The connection is made before the code is there, by a token that is good for one connection. It has no name and no port,
so nobody else can reach it.
"""

import fcntl
import os
import socket

from .gate import SERVER
from .kernel import MS_BIND, MS_NODEV, MS_NOSUID, MS_RDONLY, MS_REC, MS_REMOUNT, check_result, libc, mount

# As `toolsDescriptor` in sandbox.ts.
DESCRIPTOR = 5
FOLDER = "/tools"


def connect_to_server(token):
    """Gives a descriptor with a high number, which is closed in programs that code starts."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(SERVER)
        connection.sendall(token.encode() + b"\n")
        return fcntl.fcntl(connection.fileno(), fcntl.F_DUPFD_CLOEXEC, 100)


def show_tools(files):
    """The operator's own tools, as they are, and beside them the files, read-only."""
    own = os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    size = sum(len(text.encode()) + 8192 for text in files.values())
    mount("tmpfs", FOLDER, "mode=755,size=%d" % (size + (1 << 20)))
    for name in os.listdir(own):
        if name != "mcp":
            show_own(own, name)
    for path, text in files.items():
        write_new_file("%s/mcp/%s" % (FOLDER, path), text)
    os.close(own)
    flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV
    check_result(libc.mount(None, FOLDER.encode(), None, flags, None), "remount " + FOLDER)


def show_own(folder, name):
    source, target = "/proc/self/fd/%d/%s" % (folder, name), "%s/%s" % (FOLDER, name)
    if os.path.islink(source):
        return os.symlink(os.readlink(source), target)
    if os.path.isdir(source):
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
    check_result(libc.mount(os.fsencode(source), os.fsencode(target), None, MS_BIND | MS_REC, None), "bind " + target)


def write_new_file(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(text)
