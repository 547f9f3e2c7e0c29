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
  noProtocol: returnErrno | constants.errno.EPROTONOSUPPORT,
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
  readonly match: Rule;
  readonly otherwise: Rule;
}

/** Of CLONE_NEW…: time, mount, cgroup, uts, ipc, user, pid and net. */
const newNamespaces = 0x7e02_0080;
const unixSocket = 1;
/** IPv4 and IPv6. Not vsock above all: no namespace contains it, and it reaches the hypervisor. */
const internet = [2, 10];
/** By it programs ask which interfaces there are; its other protocols are doors to the kernel. */
const netlink = 16;
/** Whatever goes with the type, ICMP, TCP, UDP, ICMPv6. Not MPTCP and SCTP, whose buffers nothing bounds. */
const protocols = [0, 1, 6, 17, 58];
/** Set in SOCK_SEQPACKET, SOCK_RDM and SOCK_DCCP, and not in SOCK_STREAM, SOCK_DGRAM and SOCK_RAW. */
const rareSocketTypes = 0x4;
const socketLevel = 1;
/** SO_SNDBUF and SO_RCVBUF: with them each socket may take more than net.ipv4.tcp_rmem and tcp_wmem say. */
const bufferSizes = [7, 8];
/** SO_ATTACH_FILTER and its kin: the machine has a bounded share of compiled filters, for seccomp too. */
const socketFilters = [26, 50, 51, 52];
/** F_SETLEASE makes other processes wait that open the file; F_NOTIFY shows what others do in a folder. */
const watchingOthers = [1024, 1026];
/** F_OFD_SETLK and F_OFD_SETLKW: /proc/locks does not show whose these are, so nobody can count them. */
const ownerlessLocks = [37, 38];
/** The init of a run has the uid of the run, which may not keep it from dying. */
const initPid = 1;
const refuseInit = (argument: number): ArgumentRule => ({
  argument,
  when: 'equal',
  values: [initPid],
  match: 'refuse',
  otherwise: 'allow',
});
/** Huge pages are counted by no memory limit of ours. */
const refuseFlag = (argument: number, bit: number): ArgumentRule => ({
  argument,
  when: 'any bit',
  values: [bit],
  match: 'refuse',
  otherwise: 'allow',
});
/** PER_LINUX, PER_LINUX32, and the question which it is. */
const personalities = [0, 8, 0xffff_ffff];
/** TIOCSTI and TIOCLINUX type into the terminal that the server was started from. */
const terminalTyping = [0x5412, 0x541c];

type Rule = SeccompVerdict | ArgumentRule;

/** The host's network is not ours to limit, and programs need to find their way in it. */
const socketOnHost: ArgumentRule = {
  argument: 0,
  when: 'equal',
  values: [unixSocket, ...internet],
  match: 'allow',
  otherwise: {
    argument: 0,
    when: 'equal',
    values: [netlink],
    match: { argument: 2, when: 'equal', values: [0], match: 'allow', otherwise: 'noFamily' },
    otherwise: 'noFamily',
  },
};

/** No netlink: what waits in its sockets counts towards no limit of memory. */
const socketInside: ArgumentRule = {
  argument: 0,
  when: 'equal',
  values: [unixSocket],
  match: 'allow',
  otherwise: {
    argument: 0,
    when: 'equal',
    values: internet,
    match: {
      argument: 1,
      when: 'any bit',
      values: [rareSocketTypes],
      match: 'noProtocol',
      otherwise: { argument: 2, when: 'equal', values: protocols, match: 'allow', otherwise: 'noProtocol' },
    },
    otherwise: 'noFamily',
  },
};

const createSocketOptionRule = (sizes: SeccompVerdict): ArgumentRule => ({
  argument: 1,
  when: 'equal',
  values: [socketLevel],
  match: {
    argument: 2,
    when: 'equal',
    values: socketFilters,
    match: 'refuse',
    otherwise: { argument: 2, when: 'equal', values: bufferSizes, match: sizes, otherwise: 'allow' },
  },
  otherwise: 'allow',
});

/** Everything else is allowed: the namespaces, the uid and no_new_privs contain it. */
export const createSeccompPolicy = (network: 'none' | 'host'): Readonly<Record<Syscall, Rule>> => ({
  ...rulesEverywhere,
  setsockopt: createSocketOptionRule(network === 'host' ? 'allow' : 'ignore'),
  socket: network === 'host' ? socketOnHost : socketInside,
});

const rulesEverywhere: Readonly<Record<Exclude<Syscall, 'socket' | 'setsockopt'>, Rule>> = {
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
  // They show what other users run, by the files of /usr that are opened; and the machine has few of them.
  inotify_init: 'unknown',
  inotify_init1: 'unknown',
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
  ioprio_set: { argument: 0, when: 'equal', values: [3], match: 'refuse', otherwise: refuseInit(1) },
  prlimit64: refuseInit(0),
  sched_setaffinity: refuseInit(0),
  sched_setattr: refuseInit(0),
  sched_setparam: refuseInit(0),
  sched_setscheduler: refuseInit(0),
  setpriority: { argument: 0, when: 'equal', values: [2], match: 'refuse', otherwise: refuseInit(1) },
  // Memory.
  memfd_create: refuseFlag(1, 0x4),
  mmap: refuseFlag(3, 0x4_0000),
  shmget: refuseFlag(2, 0x800),
  // By argument.
  fcntl: {
    argument: 1,
    when: 'equal',
    values: watchingOthers,
    match: 'refuse',
    otherwise: { argument: 1, when: 'equal', values: ownerlessLocks, match: 'invalid', otherwise: 'allow' },
  },
  ioctl: { argument: 1, when: 'equal', values: terminalTyping, match: 'refuse', otherwise: 'allow' },
  personality: { argument: 0, when: 'equal', values: personalities, match: 'allow', otherwise: 'refuse' },
  socketpair: { argument: 0, when: 'equal', values: [unixSocket], match: 'allow', otherwise: 'noFamily' },
};
