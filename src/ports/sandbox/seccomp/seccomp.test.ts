import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { test } from 'node:test';
import { interpret } from './interpreter.testing.ts';
import { createSeccompPolicy, verdicts, type SeccompRule } from './policy.ts';
import { buildSeccompProgram } from './seccomp.ts';
import { machines, syscalls, type Machine, type Syscall } from './syscalls.ts';

const allow = 0x7fff_0000;
const kill = 0x8000_0000;
const { EAFNOSUPPORT, EINVAL, ENOPROTOOPT, ENOSYS, ENOTTY, EOPNOTSUPP, EPERM, EPROTONOSUPPORT } =
  constants.errno;
const policy = createSeccompPolicy('none');
/** What the kernel ignores of an int, all set. */
const highHalf = 0xffff_ffff_0000_0000n;

/** Name, which argument, its value, the verdict. */
const rows: readonly (readonly [Syscall, number, bigint, number])[] = [
  ['clone', 0, 17n, allow],
  ['clone', 0, 0x003d_0f00n, allow],
  ['clone', 0, 0x4111n, allow],
  ...[0x80n, 0x2_0000n, 0x200_0000n, 0x400_0000n, 0x800_0000n, 0x1000_0000n, 0x2000_0000n, 0x4000_0000n].map(
    (flag) => ['clone', 0, flag | 17n, failing(EPERM)] as const,
  ),
  ['ioctl', 1, 0x5401n, allow],
  ['ioctl', 1, 0x5412n, failing(EPERM)],
  ['ioctl', 1, 0x541cn, failing(EPERM)],
  ['ioctl', 1, 0x541bn, allow],
  // FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_FSSETXATTR, FS_IOC_SETFLAGS, FICLONE, and one of no device.
  ...[0x4030_5828n, 0x4030_582an, 0x401c_5820n, 0x4008_6602n, 0x4004_9409n, 0x1234n].map(
    (command) => ['ioctl', 1, command, failing(ENOTTY)] as const,
  ),
  ...[1n, 4n, 15n, 36n, 38n].map((option) => ['prctl', 0, option, allow] as const),
  // PR_SET_SECCOMP, PR_SCHED_CORE, PR_SET_MEMORY_MERGE, PR_SET_VMA, PR_SET_PTRACER.
  ...[22n, 62n, 67n, 0x5356_4d41n, 0x5961_6d61n].map(
    (option) => ['prctl', 0, option, failing(EINVAL)] as const,
  ),
  ['madvise', 2, 4n, allow],
  ['madvise', 2, 14n, allow],
  ['madvise', 2, 12n, failing(EINVAL)],
  ['personality', 0, 0n, allow],
  ['personality', 0, 8n, allow],
  ['personality', 0, 0xffff_ffffn, allow],
  ['personality', 0, 0x4_0000n, failing(EPERM)],
  ['fcntl', 1, 4n, allow],
  ['fcntl', 1, 6n, allow],
  ['fcntl', 1, 1024n, failing(EPERM)],
  ['fcntl', 1, 1026n, failing(EPERM)],
  ['fcntl', 1, 37n, failing(EINVAL)],
  ['fcntl', 1, 38n, failing(EINVAL)],
  ...[1n, 2n, 10n].map((family) => ['socket', 0, family, allow] as const),
  ...[0n, 3n, 16n, 17n, 38n, 40n, 44n].map((family) => ['socket', 0, family, failing(EAFNOSUPPORT)] as const),
  ...(
    ['prlimit64', 'sched_setaffinity', 'sched_setattr', 'sched_setparam', 'sched_setscheduler'] as const
  ).flatMap((name) => [
    [name, 0, 0n, allow] as const,
    [name, 0, 7n, allow] as const,
    [name, 0, 1n, failing(EPERM)] as const,
  ]),
  ['setpriority', 1, 1n, failing(EPERM)],
  ['setpriority', 1, 0n, allow],
  ['setpriority', 0, 2n, failing(EPERM)],
  ['ioprio_set', 0, 3n, failing(EPERM)],
  ['ioprio_set', 1, 1n, failing(EPERM)],
  ['mmap', 3, 0x22n, allow],
  ['mmap', 3, 0x4_0022n, failing(EPERM)],
  ['memfd_create', 1, 1n, allow],
  ['memfd_create', 1, 5n, failing(EPERM)],
  ['shmget', 2, 0x3ffn, allow],
  ['shmget', 2, 0xbffn, failing(EPERM)],
  ['socketpair', 0, 1n, allow],
  ['socketpair', 0, 2n, failing(EAFNOSUPPORT)],
  ['socketpair', 0, 30n, failing(EAFNOSUPPORT)],
];

for (const machine of Object.keys(machines) as Machine[]) {
  const program = buildSeccompProgram('none', machine)!;
  const arch = machines[machine].audit;
  const numberOf = (name: Syscall) => syscalls[name][machines[machine].column];

  test(`on ${machine} a call does what the list says, and one that is not listed does not exist`, () => {
    const listed = new Map<number | null, SeccompRule>(
      Object.entries(policy).map(([name, rule]) => [numberOf(name as Syscall), rule] as const),
    );
    for (let number = 0; number < 1000; number++) {
      const rule = listed.get(number) ?? 'unknown';
      if (typeof rule === 'string')
        assert.equal(interpret(program, { arch, number }).verdict, verdicts[rule], `${number}`);
    }
    // Calls that are younger than this list among them.
    for (const number of [451, 457, 470, 471, 600, 999])
      assert.equal(interpret(program, { arch, number }).verdict, failing(ENOSYS));
  });

  test(`on ${machine} what takes without cost is refused`, () => {
    const verdictOf = (name: Syscall) => interpret(program, { arch, number: numberOf(name)! }).verdict;
    for (const name of ['fallocate', 'setxattr', 'lsetxattr', 'fsetxattr'] as const)
      assert.equal(verdictOf(name), failing(EOPNOTSUPP), name);
    for (const name of [
      'seccomp',
      'io_uring_setup',
      'splice',
      'tee',
      'vmsplice',
      'msgget',
      'semget',
      'mq_open',
    ] as const)
      assert.equal(verdictOf(name), failing(ENOSYS), name);
    for (const name of ['add_key', 'bpf', 'perf_event_open', 'userfaultfd'] as const)
      assert.equal(verdictOf(name), failing(EPERM), name);
  });

  test(`on ${machine} arguments decide by the half that the kernel looks at`, () => {
    for (const [name, position, value, verdict] of rows)
      for (const upper of [0n, highHalf]) {
        const args = Array.from({ length: 6 }, (_, index) => (index === position ? value | upper : 0n));
        const call = { arch, number: numberOf(name)!, args };
        assert.equal(interpret(program, call).verdict, verdict, `${name} 0x${value.toString(16)}`);
      }
  });

  test(`on ${machine} a call of another architecture kills`, () => {
    for (const other of [0x4000_0003, 0x4000_0028, 0, machine === 'x64' ? 0xc000_00b7 : 0xc000_003e])
      assert.equal(interpret(program, { arch: other, number: 0 }).verdict, kill);
  });

  test(`on ${machine} the program is small and decides in a few steps`, () => {
    assert.ok(program.length <= 8 * 512, `${program.length} bytes`);
    const byArgument = new Set<number | null>(
      (Object.keys(policy) as Syscall[])
        .filter((name) => typeof policy[name] !== 'string')
        .map((name) => numberOf(name)),
    );
    const stepsOf = (number: number) => interpret(program, { arch, number }).steps;
    const numbers = Array.from({ length: 1000 }, (_, number) => number);
    const most = Math.max(...numbers.filter((number) => !byArgument.has(number)).map(stepsOf));
    assert.ok(most <= 20, `${most} steps`);
    assert.ok(Math.max(...numbers.map(stepsOf)) <= 80);
  });
}

/** Arguments that decide together, where the network is the run's own and where it is the host's. */
const together: readonly (readonly [Syscall, readonly bigint[], number, number])[] = [
  ['socket', [16n, 3n, 0n], failing(EAFNOSUPPORT), allow],
  ['socket', [16n, 3n, 15n], failing(EAFNOSUPPORT), failing(EAFNOSUPPORT)],
  ['socket', [2n, 1n | 0x8_0800n, 0n], allow, allow],
  ['socket', [10n, 2n, 17n], allow, allow],
  ['socket', [2n, 1n, 132n], failing(EPROTONOSUPPORT), allow],
  ['socket', [2n, 1n, 262n], failing(EPROTONOSUPPORT), allow],
  ['socket', [10n, 5n, 0n], failing(EPROTONOSUPPORT), allow],
  ['socket', [1n, 5n, 0n], allow, allow],
  ['setsockopt', [3n, 1n, 7n], failing(0), allow],
  ['setsockopt', [3n, 1n, 8n], failing(0), allow],
  ['setsockopt', [3n, 6n, 8n], allow, allow],
  // TCP_NODELAY, IP_RECVERR, IPV6_V6ONLY, UDP_CORK.
  ['setsockopt', [3n, 6n, 1n], allow, allow],
  ['setsockopt', [3n, 0n, 11n], allow, allow],
  ['setsockopt', [3n, 41n, 26n], allow, allow],
  ['setsockopt', [3n, 17n, 1n], allow, allow],
  // Multicast groups and their sources of both families, headers of IPv6, flow labels.
  ...[20n, 27n, 32n, 42n, 43n, 46n, 48n, 54n, 57n, 59n].map(
    (option) => ['setsockopt', [3n, 41n, option], failing(ENOPROTOOPT), failing(ENOPROTOOPT)] as const,
  ),
  ...[4n, 35n, 39n, 41n, 42n, 46n, 48n].map(
    (option) => ['setsockopt', [3n, 0n, option], failing(ENOPROTOOPT), failing(ENOPROTOOPT)] as const,
  ),
  // TCP_MD5SIG, TCP_ULP, SO_ZEROCOPY, SOL_ALG, SOL_NETLINK.
  ['setsockopt', [3n, 6n, 14n], failing(ENOPROTOOPT), failing(ENOPROTOOPT)],
  ['setsockopt', [3n, 6n, 31n], failing(ENOPROTOOPT), failing(ENOPROTOOPT)],
  ['setsockopt', [3n, 1n, 60n], failing(ENOPROTOOPT), failing(ENOPROTOOPT)],
  ['setsockopt', [3n, 279n, 1n], failing(ENOPROTOOPT), failing(ENOPROTOOPT)],
  ['setsockopt', [3n, 270n, 1n], failing(ENOPROTOOPT), failing(ENOPROTOOPT)],
  ['setsockopt', [3n, 1n, 2n], allow, allow],
  ['setsockopt', [3n, 1n, 26n], failing(EPERM), failing(EPERM)],
  ['setsockopt', [3n, 1n, 51n], failing(EPERM), failing(EPERM)],
];

for (const machine of Object.keys(machines) as Machine[])
  test(`on ${machine} sockets are bounded where the network is the run's own`, () => {
    const arch = machines[machine].audit;
    for (const [name, args, inside, onHost] of together) {
      const call = { arch, number: syscalls[name][machines[machine].column]!, args };
      assert.equal(
        interpret(buildSeccompProgram('none', machine)!, call).verdict,
        inside,
        `${name} ${args.join()}`,
      );
      assert.equal(
        interpret(buildSeccompProgram('host', machine)!, call).verdict,
        onHost,
        `${name} ${args.join()}`,
      );
    }
  });

test('x32 calls do not exist on x86_64', () => {
  const program = buildSeccompProgram('none', 'x64')!;
  for (const number of [0x4000_0000, 0x4000_0065, 0x7fff_ffff, 0xffff_ffff])
    assert.equal(interpret(program, { arch: machines.x64.audit, number }).verdict, failing(ENOSYS));
});

test('there is no program for a machine whose numbers are not known', () => {
  assert.equal(buildSeccompProgram('none', 'riscv64'), null);
  assert.equal(buildSeccompProgram('none', 'toString'), null);
});

function failing(errno: number): number {
  return 0x0005_0000 | errno;
}
