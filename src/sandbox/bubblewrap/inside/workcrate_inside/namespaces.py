"""What a run gives itself before it becomes an interpreter: namespaces, limits, and no rights."""

import ctypes
import fcntl
import os
import resource
import struct

from .kernel import *

USER_ID = 1000

# What tells of the machine and of its users' keys.
HIDDEN = ("/proc/keys", "/proc/key-users", "/proc/kcore", "/proc/sysrq-trigger", "/proc/timer_list")

# What the kernel counts by user, outside as well: one run must not take all of it from the others.
COUNTED = {
    "max_user_namespaces": 0,
    "max_mnt_namespaces": 0,
    "max_net_namespaces": 0,
    "max_pid_namespaces": 0,
    "max_fanotify_groups": 0,
    "max_inotify_instances": 0,
}

# Least, usual and most bytes of a buffer of TCP. What waits in a connection that nobody has accepted yet counts
# towards no limit of memory, so each holds little, and kernel_memory.py bounds how many there are.
TCP_BUFFER = "4096 8192 16384"


def write_file(path, text):
    """Without the buffers of open(), which take longer than the kernel: every run writes a dozen of these."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def enter_namespaces(settings):
    """Everything but the user namespace, which comes last, since it gives up the right to the others."""
    network = 0 if settings["network"] == "host" else CLONE_NEWNET
    flags = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP | network
    checked(libc.unshare(flags), "unshare")
    checked(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount private")
    mount("proc", "/proc", None, MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for name in HIDDEN:
        if os.path.exists(name):
            checked(libc.mount(b"/dev/null", name.encode(), None, MS_BIND, None), "hide " + name)
    size = "size=%d,nr_inodes=%d," % (settings["tmp"], settings["tmp"] // 1024 + 1000)
    mount("tmpfs", "/tmp", size + "mode=1777")
    mount("tmpfs", "/home/user", size + "mode=700")
    mount("tmpfs", "/dev/shm", size + "mode=1777")
    mount("devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=620,max=64", MS_NOSUID | MS_NOEXEC)
    if network:
        raise_loopback()
        for name in ("tcp_rmem", "tcp_wmem"):
            write_file("/proc/sys/net/ipv4/" + name, TCP_BUFFER)


def raise_loopback():
    """A server and its client inside one run can speak to each other. There is no other interface."""
    probe = checked(libc.socket(2, 1 | os.O_CLOEXEC, 0), "socket")
    request = bytearray(b"lo".ljust(16, b"\0") + b"\x49\0".ljust(24, b"\0"))
    fcntl.ioctl(probe, 0x8914, request)
    os.close(probe)


def set_limits(limits):
    """None is raised beyond what the server itself may have, which the kernel would refuse."""
    for name, value in limits.items():
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))


def become_user():
    checked(libc.unshare(CLONE_NEWUSER), "unshare user")
    write_file("/proc/self/setgroups", "deny")
    write_file("/proc/self/uid_map", "%d 0 1" % USER_ID)
    write_file("/proc/self/gid_map", "%d 0 1" % USER_ID)
    for name, most in COUNTED.items():
        if os.path.exists("/proc/sys/user/" + name):
            write_file("/proc/sys/user/" + name, str(most))


def drop_rights(program):
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    checked(libc.syscall(CAPSET[machine], header, (ctypes.c_uint32 * 6)()), "capset")
    keep_sockets_inside()
    prctl(PR_SET_SECCOMP, 2, ctypes.addressof(program))


def keep_sockets_inside():
    """No socket in folders that last: by one, a run could hand its memory and its pipes on to another run.

    Where the kernel has no Landlock that knows of it, nothing is done.
    """
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    if version < 2:
        return
    scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET if version >= 6 else 0
    handled = (ctypes.c_uint64 * 3)(LANDLOCK_MAKE_SOCK | LANDLOCK_REFER, 0, scoped)
    size = 24 if version >= 6 else 8
    rules = checked(libc.syscall(LANDLOCK_CREATE_RULESET, handled, size, 0), "landlock")
    allowed = {"/": LANDLOCK_REFER}
    allowed.update({folder: LANDLOCK_REFER | LANDLOCK_MAKE_SOCK for folder in ("/tmp", "/home/user", "/dev/shm")})
    for path, access in allowed.items():
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        checked(libc.syscall(LANDLOCK_ADD_RULE, rules, 1, struct.pack("=Qi", access, folder), 0), "landlock " + path)
        os.close(folder)
    checked(libc.syscall(LANDLOCK_RESTRICT_SELF, rules, 0), "landlock")
    os.close(rules)
