/**
 * What a run used of the network, as it is recorded and told, and the port by which a run gets its way out. It judges no
 * host: the egress proxy does, which `server/` hands in.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../identity.ts';
import type { RunNetwork } from '../../ports/sandbox/sandbox.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';

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

/** The way out of one run. */
export interface OpenNetwork extends RunNetwork {
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

/** The way out of a run; null where it has none, or that of the host. */
export function openNetwork(
  network: NetworkPort | null,
  caller: Caller,
  execution: string,
  hosts: readonly string[] | null,
): OpenNetwork | null {
  if (network) return hosts?.length === 0 ? null : network.open(caller, execution, hosts);
  if (hosts === null) return null;
  throw new WorkcrateError(
    'invalid_input',
    'There is no list of allowed hosts here to choose from. Leave network out, or ask the operator for one (--sandbox-network allow:HOST,…).',
  );
}

export const networkShape = z.object({
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

export function showNetworkUse(use: NetworkUse | null): z.input<typeof networkShape> | null {
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
export function toNetworkLines(use: NetworkUse | null): string[] {
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
