/**
 * Compiles the policy for system calls into a BPF program. It decides nothing (`policy.ts` does) and installs nothing:
 * the programs inside the sandbox do.
 */
import { assemble, type BpfLine } from './bpf.ts';
import {
  createSeccompPolicy,
  unlisted,
  verdicts,
  type ArgumentRule,
  type SeccompRule,
  type SeccompPolicy,
  type SeccompVerdict,
} from './policy.ts';
import { machines, syscalls, type Machine, type Syscall } from './syscalls.ts';

/** Offsets in `struct seccomp_data`. Both machines are little endian, so an argument's low half comes first. */
const numberAt = 0;
const archAt = 4;
const argumentsAt = 16;

type Network = 'none' | 'host';

/** From this number on, up to the next range, a call goes to this label. */
interface SyscallRange {
  readonly from: number;
  readonly to: string;
}

/**
 * The filter of every run, as an array of `struct sock_filter`. Null on a processor whose numbers we do not know: there
 * nothing is filtered, which the backend has to declare.
 */
export function buildSeccompProgram(network: Network, arch: string = process.arch): Buffer | null {
  return isKnownMachine(arch) ? assemble([...generateProgram(arch, createSeccompPolicy(network))]) : null;
}

function isKnownMachine(arch: string): arch is Machine {
  return Object.hasOwn(machines, arch);
}

function* generateProgram(machine: Machine, policy: SeccompPolicy): Generator<BpfLine> {
  yield { op: 'load', offset: archAt };
  yield { op: 'equal', value: machines[machine].audit, yes: null, no: 'kill' };
  yield { op: 'load', offset: numberAt };
  yield* generateSearch(listSyscallRanges(machine, policy));
  for (const verdict of Object.keys(verdicts) as SeccompVerdict[]) yield* generateReturn(verdict, verdict);
  for (const [name, rule] of Object.entries(policy))
    if (typeof rule !== 'string') yield* generateArgumentCheck(name, rule);
}

function* generateReturn(label: string, verdict: SeccompVerdict): Generator<BpfLine> {
  yield { op: 'label', name: label };
  yield { op: 'return', value: verdicts[verdict] };
}

function listSyscallRanges(machine: Machine, policy: SeccompPolicy): SyscallRange[] {
  const targets = new Map(
    Object.entries(policy).map(([name, rule]) => toNumberedRule(machine, name as Syscall, rule)),
  );
  const { foreignFrom } = machines[machine];
  const found: SyscallRange[] = [{ from: 0, to: unlisted }];
  for (const number of [...targets.keys()].filter((key) => key !== null).sort((a, b) => a - b)) {
    // The number before has ended its own range already.
    if (found.at(-1)?.from === number) found.pop();
    found.push({ from: number, to: targets.get(number) ?? unlisted }, { from: number + 1, to: unlisted });
  }
  if (foreignFrom !== null) found.push({ from: foreignFrom, to: unlisted });
  return found.filter(({ to }, index) => to !== found[index - 1]?.to);
}

function toNumberedRule(
  machine: Machine,
  name: Syscall,
  rule: string | ArgumentRule,
): [number | null, string] {
  return [syscalls[name][machines[machine].column], typeof rule === 'string' ? rule : name];
}

/** Halves the ranges until one is left: some seven comparisons for any call. */
function* generateSearch(ranges: readonly SyscallRange[]): Generator<BpfLine> {
  const middle = ranges.length >> 1;
  const [left, right] = [ranges.slice(0, middle), ranges.slice(middle)];
  const from = right[0]!.from;
  const yes = right.length === 1 ? right[0]!.to : `from ${from}`;
  yield { op: 'at least', value: from, yes, no: left.length === 1 ? left[0]!.to : null };
  if (left.length > 1) yield* generateSearch(left);
  if (right.length === 1) return;
  yield { op: 'label', name: yes };
  yield* generateSearch(right);
}

/** Followed by returns of its own: a jump to those of the search would be backward. */
function* generateArgumentCheck(name: string, rule: ArgumentRule): Generator<BpfLine> {
  yield { op: 'label', name };
  yield { op: 'load', offset: argumentsAt + 8 * rule.argument };
  const [match, otherwise] = [`${name}, if so`, `${name}, if not`];
  for (const [index, value] of rule.values.entries()) {
    const isLast = index === rule.values.length - 1;
    yield { op: rule.when, value, yes: match, no: isLast ? otherwise : null };
  }
  yield* generateRule(match, rule.match);
  yield* generateRule(otherwise, rule.otherwise);
}

const generateRule = (label: string, rule: SeccompRule): Generator<BpfLine> =>
  typeof rule === 'string' ? generateReturn(label, rule) : generateArgumentCheck(label, rule);
