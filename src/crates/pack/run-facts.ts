import type { Execution } from '../../executions/executions.ts';
import { entity, type GraphEntity } from './entities.ts';
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

type Licence = GraphEntity & { readonly name: string };

const unstated = {
  name: 'No licence stated',
  description:
    'Nobody has stated under which terms this may be used. All rights are with its authors: ask them first.',
};

/** Identifiers without a digit that are met often; any with one, such as `CC-BY-4.0`, is told by its form. */
const plainNames = new Set(['MIT', 'ISC', 'Unlicense', 'Zlib', 'WTFPL', 'X11']);
const identifier = /^(?=.*\d)[A-Za-z0-9][A-Za-z0-9.+-]{2,60}$/;

/** The licence as an entity: RO-Crate demands one, with a name and what it says. */
export function licenceEntity(license: string | null): Licence {
  if (license === null) return named('#license', 'CreativeWork', unstated);
  const url = webAddress(license);
  if (url !== null) return named(url, 'CreativeWork', { name: license, description: `See ${license}`, url });
  if (plainNames.has(license) || identifier.test(license)) return spdx(license);
  return named('#license', 'CreativeWork', { name: firstLine(license), description: license });
}

function spdx(license: string): Licence {
  const url = `https://spdx.org/licenses/${license}`;
  const description = `The licence ${license} of the SPDX list; its text is at ${url}`;
  return named(url, 'CreativeWork', { name: license, description, url, identifier: license });
}

function named(
  id: string,
  type: string,
  properties: Readonly<Record<string, string>> & { name: string },
): Licence {
  return entity(id, type, properties) as Licence;
}

function webAddress(text: string): string | null {
  if (!/^https?:\/\/\S+$/i.test(text) || !URL.canParse(text)) return null;
  // A URL may hold some marks that an IRI may not.
  return new URL(text).href.replace(/[\\^`{|}]/g, encodeURIComponent);
}

function firstLine(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.length > 100 ? `${line.slice(0, 99).toWellFormed()}…` : line;
}
