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
  readonly match: Verdict | ArgumentRule;
  readonly otherwise: Verdict | ArgumentRule;
}

/** Of CLONE_NEW…: time, mount, cgroup, uts, ipc, user, pid and net. */
const newNamespaces = 0x7e02_0080;
const unixSocket = 1;
/** Unix, IPv4, IPv6. Not vsock above all: no namespace holds it, and it reaches the hypervisor. */
const families = [unixSocket, 2, 10];
/** By it programs ask which interfaces there are; its other protocols are doors to the kernel. */
const netlink = 16;
/** The init of a run has the uid of the run, which may not keep it from dying. */
const init = 1;
const notTheInit = (argument: number): ArgumentRule => ({
  argument,
  when: 'equal',
  values: [init],
  match: 'refuse',
  otherwise: 'allow',
});
/** Huge pages are counted by no memory limit of ours. */
const without = (argument: number, bit: number): ArgumentRule => ({
  argument,
  when: 'any bit',
  values: [bit],
  match: 'refuse',
  otherwise: 'allow',
});
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
  // The whole machine has so many of these that one run can take all.
  io_setup: 'unknown',
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
  // Who runs when.
  ioprio_set: { argument: 0, when: 'equal', values: [3], match: 'refuse', otherwise: notTheInit(1) },
  prlimit64: notTheInit(0),
  sched_setaffinity: notTheInit(0),
  sched_setattr: notTheInit(0),
  sched_setparam: notTheInit(0),
  sched_setscheduler: notTheInit(0),
  setpriority: { argument: 0, when: 'equal', values: [2], match: 'refuse', otherwise: notTheInit(1) },
  // Memory.
  memfd_create: without(1, 0x4),
  mmap: without(3, 0x4_0000),
  shmget: without(2, 0x800),
  // By argument.
  ioctl: { argument: 1, when: 'equal', values: typing, match: 'refuse', otherwise: 'allow' },
  personality: { argument: 0, when: 'equal', values: personalities, match: 'allow', otherwise: 'refuse' },
  socket: {
    argument: 0,
    when: 'equal',
    values: families,
    match: 'allow',
    otherwise: {
      argument: 0,
      when: 'equal',
      values: [netlink],
      match: { argument: 2, when: 'equal', values: [0], match: 'allow', otherwise: 'noFamily' },
      otherwise: 'noFamily',
    },
  },
  socketpair: { argument: 0, when: 'equal', values: [unixSocket], match: 'allow', otherwise: 'noFamily' },
};
