"""The few system calls that Python 3.11 has no function for."""

import ctypes
import os

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 22, 24, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
KEYCTL = {"x86_64": 250, "aarch64": 219}
CAPSET = {"x86_64": 126, "aarch64": 91}
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_MAKE_SOCK, LANDLOCK_REFER, LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 9, 1 << 13, 1

libc = ctypes.CDLL(None, use_errno=True)
libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
machine = os.uname().machine


class Program(ctypes.Structure):
    """A seccomp filter, as prctl takes it. The caller keeps the filter alive."""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def check_result(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))
    return result


def prctl(option, *values):
    check_result(libc.prctl(option, *(values + (0, 0, 0, 0))[:4]), "prctl")


def mount(kind, target, options=None, flags=MS_NOSUID | MS_NODEV):
    data = options.encode() if options else None
    check_result(libc.mount(kind.encode(), target.encode(), kind.encode(), flags, data), "mount " + target)


def join_empty_keyring():
    """Keeps the keys of the session that started the server out of reach."""
    libc.syscall(KEYCTL[machine], 1, None)
