"""What a run does before it becomes an interpreter: enters namespaces, sets limits, drops all rights."""

import ctypes
import errno
import fcntl
import os
import resource
import struct

from .gate import SERVER as GATE
from .kernel import *

USER_ID = 1000

# The server's socket, which is for the relay alone; the others show facts about the machine and its users' keys.
HIDDEN = tuple(
    name.encode()
    for name in (GATE, "/proc/keys", "/proc/key-users", "/proc/kcore", "/proc/sysrq-trigger", "/proc/timer_list")
)

# The kernel counts these by user, also outside: one run must not take all of them from the others. It gets none.
USER_LIMITS = tuple(
    "/proc/sys/user/max_" + name
    for name in (
        "user_namespaces", "mnt_namespaces", "net_namespaces", "pid_namespaces", "fanotify_groups", "inotify_instances",
    )
)  # fmt: skip

# Least, usual and most bytes of a buffer of TCP. What waits in a connection that nobody has accepted yet counts
# towards no limit of memory, so each holds little, and kernel_memory.py bounds how many there are.
TCP_BUFFER = b"4096 8192 16384"

# What the kernel keeps for the options of one socket, beside its buffers: no limit of memory counts that.
SOCKET_OPTIONS = b"16384"


def write_file(path, text):
    """Without the buffers of open(), which take longer than the system call: every run writes a dozen files."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text)
    finally:
        os.close(descriptor)


def enter_namespaces(settings, is_gated=False):
    """Everything but the user namespace, which comes last, since it gives up the right to the others."""
    network = 0 if settings["network"] == "host" and not is_gated else CLONE_NEWNET
    flags = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP | network
    check_result(libc.unshare(flags), "unshare")
    check_result(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount private")
    mount("proc", "/proc", None, MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for name in HIDDEN:
        hide(name)
    size = "size=%d,nr_inodes=%d," % (settings["tmp"], settings["tmp"] // 1024 + 1000)
    mount("tmpfs", "/tmp", size + "mode=1777")
    mount("tmpfs", "/home/user", size + "mode=700")
    mount("tmpfs", "/dev/shm", size + "mode=1777")
    mount("devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=620,max=64", MS_NOSUID | MS_NOEXEC)
    if network:
        raise_loopback()
        for name in ("tcp_rmem", "tcp_wmem"):
            write_file("/proc/sys/net/ipv4/" + name, TCP_BUFFER)
        try:
            write_file("/proc/sys/net/core/optmem_max", SOCKET_OPTIONS)
        except FileNotFoundError:
            # An older kernel has one for the whole machine. The filter of system calls refuses these options anyway.
            pass


def raise_loopback():
    """Lets a server and its client inside one run connect to each other. There is no other interface."""
    probe = check_result(libc.socket(2, 1 | os.O_CLOEXEC, 0), "socket")
    request = bytearray(b"lo".ljust(16, b"\0") + b"\x49\0".ljust(24, b"\0"))
    fcntl.ioctl(probe, 0x8914, request)
    os.close(probe)


def hide(name):
    """A kernel may lack some of them."""
    if libc.mount(b"/dev/null", name, None, MS_BIND, None) < 0 and ctypes.get_errno() != errno.ENOENT:
        check_result(-1, "hide " + name.decode())


def set_limits(limits):
    """Raises none beyond the hard limit of the server, which the kernel would refuse."""
    for name, value in limits.items():
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))


def become_user():
    check_result(libc.unshare(CLONE_NEWUSER), "unshare user")
    write_file("/proc/self/setgroups", b"deny")
    write_file("/proc/self/uid_map", b"%d 0 1" % USER_ID)
    write_file("/proc/self/gid_map", b"%d 0 1" % USER_ID)
    for path in USER_LIMITS:
        try:
            write_file(path, b"0")
        except FileNotFoundError:
            # An older kernel.
            pass


def drop_rights(program):
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    check_result(libc.syscall(CAPSET[machine], header, (ctypes.c_uint32 * 6)()), "capset")
    keep_sockets_inside()
    prctl(PR_SET_SECCOMP, 2, ctypes.addressof(program))


def keep_sockets_inside():
    """Forbids sockets in folders that outlive the run: by one, a run could pass its memory and its pipes to another run.

    Does nothing if the Landlock of the kernel does not support it.
    """
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    if version < 2:
        return
    scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET if version >= 6 else 0
    handled = (ctypes.c_uint64 * 3)(LANDLOCK_MAKE_SOCK | LANDLOCK_REFER, 0, scoped)
    size = 24 if version >= 6 else 8
    rules = check_result(libc.syscall(LANDLOCK_CREATE_RULESET, handled, size, 0), "landlock")
    allowed = {"/": LANDLOCK_REFER}
    allowed.update({folder: LANDLOCK_REFER | LANDLOCK_MAKE_SOCK for folder in ("/tmp", "/home/user", "/dev/shm")})
    for path, access in allowed.items():
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        check_result(libc.syscall(LANDLOCK_ADD_RULE, rules, 1, struct.pack("=Qi", access, folder), 0), "landlock " + path)
        os.close(folder)
    check_result(libc.syscall(LANDLOCK_RESTRICT_SELF, rules, 0), "landlock")
    os.close(rules)
