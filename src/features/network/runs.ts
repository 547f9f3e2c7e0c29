/**
 * The network in a run: its way out to the hosts that it may reach, and what it used of that, as it is recorded and told. It judges no
 * host: the proxy does (`egress.ts`).
 */
import type { Caller } from '../../core/identity.ts';
import type { Execution } from '../../core/runs/executions.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { RunNetwork } from '../../ports/sandbox/sandbox.ts';
import { z } from 'zod';
import type { RunExtension, RunRecordPart } from '../../core/runs/extension.ts';
import { makeJsonField } from '../../core/runs/fields.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';

/** The way out of one run. */
interface OpenNetwork extends RunNetwork {
  /** Ends it, and gives what was used. */
  close(): NetworkUse;
}

/** Gives runs their way out. */
export interface NetworkPort {
  /** What runs may reach, in words: `example.org, *.example.com`. */
  readonly allowed: string;
  readonly environment: RunNetwork['environment'];
  /** `hosts` is what a call asks for, of what is allowed; null is all. Rejects what is not allowed. */
  open(caller: Caller, execution: string, hosts: readonly string[] | null): OpenNetwork;
}

export interface RunNetworkOptions {
  /** Null where runs have no network, or that of the host. */
  readonly port: NetworkPort | null;
  /** Told of what each run used. */
  readonly used: (execution: Execution, use: NetworkUse) => void;
}

export function createRunNetwork({ port, used }: RunNetworkOptions): RunExtension {
  return {
    prepare({ id, caller, request: { network: hosts = null } }) {
      const network = openNetwork(port, caller, id, hosts);
      if (network === null) return null;
      let use: NetworkUse | null = null;
      return {
        network,
        finish: () => (use === null ? {} : { fields: { network: use } }),
        [Symbol.dispose]: () => void (use = network.close()),
      };
    },
    noteEnded(execution) {
      if (execution.network !== null) used(execution, execution.network);
    },
  };
}

function openNetwork(
  port: NetworkPort | null,
  caller: Caller,
  execution: string,
  hosts: readonly string[] | null,
): OpenNetwork | null {
  if (port) return hosts?.length === 0 ? null : port.open(caller, execution, hosts);
  if (hosts === null) return null;
  throw new WorkcrateError(
    'invalid_input',
    'There is no list of allowed hosts here to choose from. Leave network out, or ask the operator for one (--sandbox-network allow:HOST,…).',
  );
}

/** A host that a run spoke to. */
export interface UsedHost {
  readonly host: string;
  readonly port: number;
  readonly requests: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** The names of secrets that the proxy added. */
  readonly secrets: readonly string[];
}

/** What a run wanted and did not get. */
export interface RefusedHost {
  /** Empty where none could be read. */
  readonly host: string;
  readonly port: number | null;
  /** Such as `host_not_allowed`. */
  readonly why: string;
  readonly count: number;
}

export interface NetworkUse {
  readonly hosts: readonly UsedHost[];
  readonly refused: readonly RefusedHost[];
  /** Requests and refusals that are only counted. */
  readonly more: number;
}

const networkShape = z.object({
  hosts: z.array(
    z.object({
      host: z.string(),
      port: z.number(),
      requests: z.number(),
      sent_bytes: z.number(),
      received_bytes: z.number(),
      secrets: z.array(z.string()).describe('Names of secrets that were added outside'),
    }),
  ),
  refused: z.array(
    z.object({ host: z.string(), port: z.number().nullable(), why: z.string(), count: z.number() }),
  ),
  more: z.number().describe('Requests and refusals that are only counted'),
});

function showNetworkUse(use: NetworkUse | null): z.input<typeof networkShape> | null {
  if (use === null) return null;
  return {
    hosts: use.hosts.map(({ host, port, requests, sentBytes, receivedBytes, secrets }) => ({
      host,
      port,
      requests,
      sent_bytes: sentBytes,
      received_bytes: receivedBytes,
      secrets: [...secrets],
    })),
    refused: use.refused.map(({ host, port, why, count }) => ({ host, port, why, count })),
    more: use.more,
  };
}

const maxNamedHosts = 10;

/** What it spoke to and what was refused, in a line each; none where it did neither. */
function toNetworkLines(use: NetworkUse | null): string[] {
  if (use === null) return [];
  const { hosts, refused, more } = use;
  return [
    ...toLine('Network', hosts.map(describeHost)),
    ...toLine('Network refused', refused.map(describeRefusal)),
    ...(more === 0 ? [] : [`Network: ${more} more requests and refusals were only counted.`]),
  ];
}

function toLine(what: string, entries: readonly string[]): string[] {
  if (entries.length === 0) return [];
  const rest = entries.length - maxNamedHosts;
  return [`${what}: ${entries.slice(0, maxNamedHosts).join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`];
}

function describeHost({ host, port, requests, sentBytes, receivedBytes, secrets }: UsedHost): string {
  const added = secrets.length === 0 ? '' : `, with ${secrets.map(quoteName).join(' and ')}`;
  return `${quoteName(host)}:${port} ${countRequests(requests)}, ${formatBytes(sentBytes)} sent, ${formatBytes(receivedBytes)} received${added}`;
}

const countRequests = (count: number): string => (count === 1 ? '1 request' : `${count} requests`);

function describeRefusal({ host, port, why, count }: RefusedHost): string {
  const target = host === '' ? 'a request' : `${quoteName(host)}${port === null ? '' : `:${port}`}`;
  return `${target} ${why}${count === 1 ? '' : `, ${count} times`}`;
}

const about = 'Hosts that it spoke to, and what was refused';

const networkFields = {
  /** Null where it had no network of its own. */
  network: {
    after: 'inputs',
    initial: null,
    isLong: true,
    ...makeJsonField(
      'network',
      'end',
      networkShape.nullable().describe(about),
      (parsed: NetworkUse | null) => parsed,
      showNetworkUse,
    ),
  },
} satisfies RunRecordPart['fields'];

declare module '../../core/runs/fields.ts' {
  interface FieldTables {
    readonly network: typeof networkFields;
  }
}

export const networkRecord: RunRecordPart = {
  fields: networkFields,
  answer: {
    network: { schema: networkShape.describe(about), show: ({ network }) => showNetworkUse(network) },
  },
  describe: ({ network }, section) => (section === 'end' ? toNetworkLines(network) : []),
};
