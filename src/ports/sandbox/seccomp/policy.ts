import { constants } from 'node:os';
import { allowedCalls } from './allowed.ts';
import { createSocketOptionRule, socketInside, socketOnHost, unixPairsOnly } from './socket-rules.ts';
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
  noProtocol: returnErrno | constants.errno.EPROTONOSUPPORT,
  noOption: returnErrno | constants.errno.ENOPROTOOPT,
  notTerminal: returnErrno | constants.errno.ENOTTY,
  notSupported: returnErrno | constants.errno.EOPNOTSUPP,
  invalid: returnErrno | constants.errno.EINVAL,
  /** Succeeds and does nothing. */
  ignore: returnErrno,
} as const;
export type SeccompVerdict = keyof typeof verdicts;

/** Looks at the low half of an argument, which is all that the kernel takes of an int. */
export interface ArgumentRule {
  readonly argument: number;
  readonly when: 'equal' | 'any bit';
  readonly values: readonly number[];
  readonly match: SeccompRule;
  readonly otherwise: SeccompRule;
}

export type SeccompRule = SeccompVerdict | ArgumentRule;

/** Of CLONE_NEW…: time, mount, cgroup, uts, ipc, user, pid and net. */
const newNamespaces = 0x7e02_0080;
const allowOnly = (argument: number, values: readonly number[], otherwise: SeccompRule): ArgumentRule => ({
  argument,
  when: 'equal',
  values,
  match: 'allow',
  otherwise,
});
const refuseValues = (argument: number, values: readonly number[], otherwise: SeccompRule): ArgumentRule => ({
  argument,
  when: 'equal',
  values,
  match: 'refuse',
  otherwise,
});
/** The init of a run has the uid of the run, which may not keep it from dying. */
const initPid = 1;
const refuseInit = (argument: number): ArgumentRule => refuseValues(argument, [initPid], 'allow');
/** Huge pages are counted by no memory limit of ours. */
const refuseFlag = (argument: number, bit: number): ArgumentRule => ({
  argument,
  when: 'any bit',
  values: [bit],
  match: 'refuse',
  otherwise: 'allow',
});

/** From F_DUPFD to F_GETSIG, F_SETOWN_EX, F_GETOWN_EX, F_OFD_GETLK, F_GETLEASE, and from F_DUPFD_CLOEXEC to F_GET_SEALS. */
const fileCommands = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 36, 1025, 1030, 1031, 1032, 1033, 1034];
/** F_SETLEASE makes other processes wait that open the file; F_NOTIFY shows what others do in a folder. */
const watchingOthers = [1024, 1026];
// F_OFD_SETLK and F_OFD_SETLKW are not allowed: /proc/locks does not show whose such locks are, so nobody can count them.

/** PER_LINUX, PER_LINUX32, and the question which it is. */
const personalities = [0, 8, 0xffff_ffff];

/**
 * Terminals, what waits in a pipe or socket, flags of a descriptor, and questions about interfaces. Of files nothing but the
 * question for their flags and places: FS_IOC_RESVSP takes space as fallocate does, FS_IOC_FSSETXATTR leaves the quota of its
 * project or takes a gigabyte for each write.
 */
const deviceCommands = [
  // TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX first: others are rare.
  0x5401, 0x5413, 0x541b, 0x5421, 0x5451, 0x5450, 0x5452,
  // TCSETS to TIOCNXCL, TIOCSCTTY, TIOCGPGRP, TIOCSPGRP, TIOCOUTQ, TIOCSWINSZ, TIOCNOTTY, TCSBRKP, TIOCGSID.
  0x5402, 0x5403, 0x5404, 0x5409, 0x540a, 0x540b, 0x540c, 0x540d, 0x540e, 0x540f, 0x5410, 0x5411, 0x5414,
  0x5422, 0x5425, 0x5429,
  // TCGETS2 to TCSETSF2, TIOCGPTN, TIOCSPTLCK, TIOCGPTPEER, TIOCPKT, TIOCGPTLCK.
  0x802c_542a, 0x402c_542b, 0x402c_542c, 0x402c_542d, 0x8004_5430, 0x4004_5431, 0x5441, 0x5420, 0x8004_5439,
  // SIOCATMARK, SIOCGIFNAME, SIOCGIFCONF, and the flags, addresses, mask, metric, MTU and number of an interface.
  0x8905,
  0x8910, 0x8912, 0x8913, 0x8915, 0x8917, 0x8919, 0x891b, 0x891d, 0x8921, 0x8927, 0x8933,
  // FS_IOC_GETFLAGS, FS_IOC_FIEMAP, FIGETBSZ.
  0x8008_6601, 0xc020_660b, 2,
];
/** TIOCSTI and TIOCLINUX type into the terminal that the server was started from. */
const terminalTyping = [0x5412, 0x541c];

/**
 * Death signal, dumpable, name, timer slack, subreaper, no_new_privs, huge pages, what is dropped or asked of capabilities and
 * speculation, and how an ARM processor computes. PR_SET_SECCOMP fails as where the kernel has none: the machine has a
 * bounded share of compiled filters. PR_SET_VMA keeps names and PR_SCHED_CORE cookies that nobody counts.
 */
const processOptions = [
  1, 2, 3, 4, 7, 8, 15, 16, 21, 23, 24, 25, 27, 28, 29, 30, 36, 37, 38, 39, 40, 41, 42, 47, 50, 51, 52, 53,
  54, 55, 56, 60, 61, 63, 64, 0x4155_5856,
];

/** Not MADV_MERGEABLE (12), which shows what pages others have and keeps the kernel busy, nor MADV_HWPOISON (100). */
const memoryAdvice = [0, 1, 2, 3, 4, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 25, 102, 103];

export type SeccompPolicy = Readonly<Partial<Record<Syscall, SeccompRule>>>;

/** What a call that is not in it ends with: programs fall back as on an older kernel. */
export const unlisted: SeccompVerdict = 'unknown';

/** What a run may ask of the kernel, by list. Beyond it, the namespaces, the uid and no_new_privs contain a run. */
export const createSeccompPolicy = (network: 'none' | 'host'): SeccompPolicy => ({
  ...Object.fromEntries(allowedCalls.map((name) => [name, 'allow'] as const)),
  ...rulesEverywhere,
  setsockopt: createSocketOptionRule(network === 'host' ? 'allow' : 'ignore'),
  socket: network === 'host' ? socketOnHost : socketInside,
});

const rulesEverywhere: SeccompPolicy = {
  // Where programs expect a refusal rather than an older kernel. Keys and other processes.
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
  // Space on disk that is taken without being written, so faster than anybody can watch. glibc then writes instead.
  fallocate: 'notSupported',
  // Not every file system counts what attributes take as space of their file.
  fremovexattr: 'notSupported',
  fsetxattr: 'notSupported',
  lremovexattr: 'notSupported',
  lsetxattr: 'notSupported',
  removexattr: 'notSupported',
  setxattr: 'notSupported',
  // Not listed for a reason: they do not exist for a run either way, and tests name them. Filters of its own, see prctl.
  landlock_create_ruleset: 'unknown',
  seccomp: 'unknown',
  // They show what other users run, by the files of /usr that are opened; and the machine has few of them.
  inotify_init: 'unknown',
  inotify_init1: 'unknown',
  // The whole machine has so many of these that one run can take all.
  io_setup: 'unknown',
  io_uring_enter: 'unknown',
  io_uring_register: 'unknown',
  io_uring_setup: 'unknown',
  // They make everybody's files be written.
  sync: 'unknown',
  syncfs: 'unknown',
  // What they keep, older kernels do not count.
  mq_open: 'unknown',
  msgget: 'unknown',
  msgsnd: 'unknown',
  semctl: 'unknown',
  semget: 'unknown',
  semop: 'unknown',
  semtimedop: 'unknown',
  // Pages of other files that a pipe holds, and pages that nobody can inspect.
  memfd_secret: 'unknown',
  splice: 'unknown',
  tee: 'unknown',
  vmsplice: 'unknown',
  modify_ldt: 'unknown',
  // Who runs when.
  ioprio_set: refuseValues(0, [3], refuseInit(1)),
  prlimit64: refuseInit(0),
  sched_setaffinity: refuseInit(0),
  sched_setattr: refuseInit(0),
  sched_setparam: refuseInit(0),
  sched_setscheduler: refuseInit(0),
  setpriority: refuseValues(0, [2], refuseInit(1)),
  // Memory.
  memfd_create: refuseFlag(1, 0x4),
  mmap: refuseFlag(3, 0x4_0000),
  shmget: refuseFlag(2, 0x800),
  // By argument.
  fcntl: allowOnly(1, fileCommands, refuseValues(1, watchingOthers, 'invalid')),
  ioctl: allowOnly(1, deviceCommands, refuseValues(1, terminalTyping, 'notTerminal')),
  madvise: allowOnly(2, memoryAdvice, 'invalid'),
  personality: allowOnly(0, personalities, 'refuse'),
  prctl: allowOnly(0, processOptions, 'invalid'),
  socketpair: unixPairsOnly,
};
