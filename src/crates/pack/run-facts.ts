import type { Execution } from '../../executions/executions.ts';
import type { RunLimit, Runtime } from './packed.ts';

/** How a run ended, in a few words. */
export function outcomeOf({ reason, exitCode, signal }: Execution): string {
  switch (reason) {
    case 'exit':
      return `exit code ${exitCode}`;
    case 'signal':
      return `ended by ${signal ?? 'a signal'}`;
    case 'timeout':
      return 'ran out of time';
    case 'oom':
      return 'ran out of memory';
    case 'pids':
      return 'ran out of processes';
    case 'disk':
      return 'ran out of disk';
    case 'cancelled':
      return 'cancelled';
    default:
      return 'lost with the sandbox around it';
  }
}

/** `Node.js v26.1.0` by its parts: versions are compared by machines, which want them bare. */
export function runtimeOf({ limits }: Execution): Runtime | null {
  const [, name, version] = /^(.+) v?(\d\S*)$/.exec(limits.runtime ?? '') ?? [];
  return name === undefined || version === undefined ? null : { name, version };
}

/** Enough for the message that stands last in a traceback. */
const mostError = 2000;

export function errorOf(execution: Execution): string | null {
  if (execution.succeeded) return null;
  const said = execution.stderr.trim().slice(-mostError).toWellFormed();
  return said === '' ? outcomeOf(execution) : `${outcomeOf(execution)}\n${said}`;
}

/** The bounds that held. What the sandbox could not hold is not told as if it had. */
export function limitsOf({ limits }: Execution): RunLimit[] {
  const held = (claim: string, name: string, value: number | string, unit: string | null): RunLimit[] =>
    limits.unenforced.includes(claim) ? [] : [{ name, value, unit }];
  return [
    { name: 'time', value: limits.timeoutMs, unit: 'ms' },
    ...held('memory', 'memory', limits.memoryBytes, 'bytes'),
    ...held('processes', 'processes', limits.processes, null),
    ...held('cpu', 'cores', limits.cpus, null),
    ...held('file_size', 'size of a file', limits.fileBytes, 'bytes'),
    ...held('network', 'network', 'none', null),
  ];
}
