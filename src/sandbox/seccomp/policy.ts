import { constants } from 'node:os';
import type { Syscall } from './syscalls.ts';

const returnErrno = 0x0005_0000;

/** How a call can end, as seccomp's return values. */
export const verdicts = {
  allow: 0x7fff_0000,
  kill: 0x8000_0000,
  refuse: returnErrno | constants.errno.EPERM,
  /** For calls that programs do without: they fall back where the kernel seems too old. */
  unknown: returnErrno | constants.errno.ENOSYS,
  noFamily: returnErrno | constants.errno.EAFNOSUPPORT,
} as const;
export type Verdict = keyof typeof verdicts;

/** Looks at the low half of an argument, which is all that the kernel takes of an int. */
export interface ArgumentRule {
  readonly argument: number;
  readonly when: 'equal' | 'any bit';
  readonly values: readonly number[];
  readonly match: Verdict;
  readonly otherwise: Verdict;
}

/** Of CLONE_NEW…: time, mount, cgroup, uts, ipc, user, pid and net. */
const newNamespaces = 0x7e02_0080;
const unixSocket = 1;
/** Unix, IPv4, IPv6, netlink. Not vsock above all: no namespace holds it, and it reaches the hypervisor. */
const families = [unixSocket, 2, 10, 16];
/** PER_LINUX, PER_LINUX32, and the question which it is. */
const personalities = [0, 8, 0xffff_ffff];
/** TIOCSTI and TIOCLINUX type into the terminal of whoever started the server. */
const typing = [0x5412, 0x541c];

/** Everything else is allowed: the namespaces, the uid and no_new_privs hold it. */
export const policy: Readonly<Record<Syscall, Verdict | ArgumentRule>> = {
  // Keys and other processes.
  add_key: 'refuse',
  keyctl: 'refuse',
  request_key: 'refuse',
  kcmp: 'refuse',
  pidfd_getfd: 'refuse',
  process_madvise: 'refuse',
  process_vm_readv: 'refuse',
  process_vm_writev: 'refuse',
  ptrace: 'refuse',
  // Large parts of the kernel that runs can do without.
  bpf: 'refuse',
  fanotify_init: 'refuse',
  io_uring_enter: 'unknown',
  io_uring_register: 'unknown',
  io_uring_setup: 'unknown',
  lookup_dcookie: 'refuse',
  nfsservctl: 'refuse',
  perf_event_open: 'refuse',
  userfaultfd: 'refuse',
  // Mounts, and files by another way than their path.
  chroot: 'refuse',
  fsconfig: 'refuse',
  fsmount: 'refuse',
  fsopen: 'refuse',
  fspick: 'refuse',
  mount: 'refuse',
  mount_setattr: 'refuse',
  move_mount: 'refuse',
  name_to_handle_at: 'refuse',
  open_by_handle_at: 'refuse',
  open_tree: 'refuse',
  open_tree_attr: 'refuse',
  pivot_root: 'refuse',
  umount2: 'refuse',
  // Namespaces. The flags of clone3 are in memory, where a filter cannot look.
  clone: { argument: 0, when: 'any bit', values: [newNamespaces], match: 'refuse', otherwise: 'allow' },
  clone3: 'unknown',
  setns: 'refuse',
  unshare: 'refuse',
  // The machine.
  acct: 'refuse',
  adjtimex: 'refuse',
  clock_adjtime: 'refuse',
  clock_settime: 'refuse',
  delete_module: 'refuse',
  finit_module: 'refuse',
  init_module: 'refuse',
  ioperm: 'refuse',
  iopl: 'refuse',
  kexec_file_load: 'refuse',
  kexec_load: 'refuse',
  quotactl: 'refuse',
  quotactl_fd: 'refuse',
  reboot: 'refuse',
  setdomainname: 'refuse',
  sethostname: 'refuse',
  settimeofday: 'refuse',
  swapoff: 'refuse',
  swapon: 'refuse',
  syslog: 'refuse',
  vhangup: 'refuse',
  // By argument.
  ioctl: { argument: 1, when: 'equal', values: typing, match: 'refuse', otherwise: 'allow' },
  personality: { argument: 0, when: 'equal', values: personalities, match: 'allow', otherwise: 'refuse' },
  socket: { argument: 0, when: 'equal', values: families, match: 'allow', otherwise: 'noFamily' },
  socketpair: { argument: 0, when: 'equal', values: [unixSocket], match: 'allow', otherwise: 'noFamily' },
};
