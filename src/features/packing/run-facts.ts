import { describeEnd, describeRemoved } from '../../core/runs/describe-run.ts';
import type { Execution } from '../../core/runs/executions.ts';
import { showEnd } from '../../core/runs/schema.ts';
import type { NetworkUse } from '../network/runs.ts';
import { createGraphEntity, type GraphEntity } from './entities.ts';
import type { RunLimit, SoftwareVersion } from './packed.ts';

/** How a run ended, as a clause, and what was removed. */
export const describeRunOutcome = (execution: Execution): string =>
  [describeEnd(showEnd(execution)), ...describeRemoved(execution.artifacts)].join('. ');

/** Splits `Node.js v26.1.0` into name and version, so that programs can compare versions. */
export function parseRunRuntime({ limits }: Execution): SoftwareVersion | null {
  const [, name, version] = /^(.+) v?(\d\S*)$/.exec(limits.runtime ?? '') ?? [];
  return name === undefined || version === undefined ? null : { name, version };
}

/** Enough for the last message of a traceback. */
const maxRunErrorLength = 2000;

export function describeRunError(execution: Execution): string | null {
  if (execution.succeeded) return null;
  const said = execution.stderr.trim().slice(-maxRunErrorLength).toWellFormed();
  return said === '' ? describeRunOutcome(execution) : `${describeRunOutcome(execution)}\n${said}`;
}

/** The limits that were enforced, without those that the sandbox could not enforce. */
export function listRunLimits({ limits, network }: Execution): RunLimit[] {
  const held = (claim: string, name: string, value: number | string, unit: string | null): RunLimit[] =>
    limits.unenforced.includes(claim) ? [] : [{ name, value, unit }];
  return [
    { name: 'time', value: limits.timeoutMs, unit: 'ms' },
    ...held('memory', 'memory', limits.memoryBytes, 'bytes'),
    ...held('processes', 'processes', limits.processes, null),
    ...held('cpu', 'cores', limits.cpus, null),
    ...held('file_size', 'size of a file', limits.fileBytes, 'bytes'),
    ...(network === null ? held('network', 'network', 'none', null) : listNetworkFacts(network)),
  ];
}

/** Which hosts it spoke to, and what was refused. */
function listNetworkFacts({ hosts, refused }: NetworkUse): RunLimit[] {
  const toFact = (name: string, value: string): RunLimit => ({ name, value, unit: null });
  return [
    toFact('network', 'allowed hosts, by proxy'),
    ...hosts.map(({ host, port, requests, sentBytes, receivedBytes }) =>
      toFact(
        'network host',
        `${host}:${port}: ${requests} requests, ${sentBytes} bytes sent, ${receivedBytes} bytes received`,
      ),
    ),
    ...refused.map(({ host, port, why, count }) =>
      toFact('network refused', `${host}${port === null ? '' : `:${port}`}: ${why}, ${count} times`),
    ),
  ];
}

type LicenceEntity = GraphEntity & { readonly name: string };

const unstatedLicence = {
  name: 'No licence stated',
  description:
    'Nobody has stated under which terms this may be used. All rights are with its authors: ask them first.',
};

/** Common identifiers without a digit. Those with one, such as `CC-BY-4.0`, are recognized by their form. */
const knownSpdxIds = new Set(['MIT', 'ISC', 'Unlicense', 'Zlib', 'WTFPL', 'X11']);
const spdxIdPattern = /^(?=.*\d)[A-Za-z0-9][A-Za-z0-9.+-]{2,60}$/;

/** The licence as an entity: RO-Crate demands one, with a name and what it says. */
export function createLicenceEntity(license: string | null): LicenceEntity {
  if (license === null) return createNamedEntity('#license', 'CreativeWork', unstatedLicence);
  const url = parseWebUrl(license);
  if (url !== null)
    return createNamedEntity(url, 'CreativeWork', { name: license, description: `See ${license}`, url });
  if (knownSpdxIds.has(license) || spdxIdPattern.test(license)) return createSpdxEntity(license);
  return createNamedEntity('#license', 'CreativeWork', { name: getFirstLine(license), description: license });
}

function createSpdxEntity(license: string): LicenceEntity {
  const url = `https://spdx.org/licenses/${license}`;
  const description = `The licence ${license} of the SPDX list; its text is at ${url}`;
  return createNamedEntity(url, 'CreativeWork', { name: license, description, url, identifier: license });
}

function createNamedEntity(
  id: string,
  type: string,
  properties: Readonly<Record<string, string>> & { name: string },
): LicenceEntity {
  return createGraphEntity(id, type, properties) as LicenceEntity;
}

function parseWebUrl(text: string): string | null {
  if (!/^https?:\/\/\S+$/i.test(text) || !URL.canParse(text)) return null;
  // A URL may contain some characters that an IRI may not.
  return new URL(text).href.replace(/[\\^`{|}]/g, encodeURIComponent);
}

function getFirstLine(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.length > 100 ? `${line.slice(0, 99).toWellFormed()}…` : line;
}
