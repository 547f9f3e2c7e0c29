import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { test } from 'node:test';
import { interpret } from './interpreter.testing.ts';
import { buildSeccompProgram } from './seccomp.ts';
import { machines, syscalls, type Machine, type Syscall } from './syscalls.ts';

const allow = 0x7fff_0000;
const kill = 0x8000_0000;
const { EAFNOSUPPORT, EINVAL, ENOSYS, EPERM, EPROTONOSUPPORT } = constants.errno;
const byArgument = new Set([
  'clone',
  'fcntl',
  'ioctl',
  'ioprio_set',
  'memfd_create',
  'mmap',
  'personality',
  'prlimit64',
  'sched_setaffinity',
  'sched_setattr',
  'sched_setparam',
  'sched_setscheduler',
  'setpriority',
  'setsockopt',
  'shmget',
  'socket',
  'socketpair',
]);
const unknown = new Set([
  'clone3',
  'inotify_init',
  'inotify_init1',
  'io_setup',
  'io_uring_enter',
  'io_uring_register',
  'io_uring_setup',
]);
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
  ['ioctl', 0, 0x5412n, allow],
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

  test(`on ${machine} each forbidden call is refused and every other number is allowed`, () => {
    const expected = new Map<number | null, number>();
    for (const name of Object.keys(syscalls) as Syscall[])
      if (!byArgument.has(name)) expected.set(numberOf(name), failing(unknown.has(name) ? ENOSYS : EPERM));
    const judged = new Set<number | null>([...byArgument].map((name) => numberOf(name as Syscall)));
    for (let number = 0; number < 1000; number++)
      if (!judged.has(number))
        assert.equal(
          interpret(program, { arch, number }).verdict,
          expected.get(number) ?? allow,
          `${number}`,
        );
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
    assert.ok(program.length <= 8 * 256, `${program.length} bytes`);
    const steps = Array.from({ length: 1000 }, (_, number) => interpret(program, { arch, number }).steps);
    assert.ok(Math.max(...steps) <= 20, `${Math.max(...steps)} steps`);
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
