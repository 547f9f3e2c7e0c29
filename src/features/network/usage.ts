/**
 * What a run used of the network: which hosts, how many bytes, what was refused. It is bounded, since hostile code can
 * ask for as many hosts as it likes. Secrets are here by their names alone.
 */
import type { Socket } from 'node:net';
import { formatHostAndPort, type HostAndPort } from '../../platform/net/host-names.ts';
import type { EgressRefusalKind, RefusedTarget } from './refusal.ts';

/** At most 50 hosts and 50 refusals; of the rest it is known how many. */
export interface NetworkUsage {
  readonly hosts: readonly {
    readonly host: string;
    readonly port: number;
    readonly requests: number;
    readonly sentBytes: number;
    readonly receivedBytes: number;
    /** The names of those that were added. */
    readonly secrets: readonly string[];
  }[];
  readonly refused: readonly {
    readonly host: string;
    readonly port: number | null;
    readonly why: EgressRefusalKind;
    readonly count: number;
  }[];
  /** Requests and refusals that are in neither list. */
  readonly more: number;
}

const maxListedHosts = 50;
/** A host name has at most so many; what is longer was none. */
const maxShownHost = 253;

interface HostEntry extends HostAndPort {
  requests: number;
  sentBytes: number;
  receivedBytes: number;
  readonly secrets: Set<string>;
  /** Their bytes are counted while they are open, too. */
  readonly open: Set<Socket>;
}

export interface UsageRecord {
  addRequest(target: HostAndPort, secrets: readonly string[]): void;
  /** It was counted, and then refused. */
  removeRequest(target: HostAndPort): void;
  /** Counts what goes over a connection, from its beginning to its end. */
  addConnection(target: HostAndPort, socket: Socket): void;
  /** Whether it is the first of its kind. */
  addRefusal(target: RefusedTarget, why: EgressRefusalKind): boolean;
  read(): NetworkUsage;
}

export function createUsageRecord(): UsageRecord {
  const hosts = new Map<string, HostEntry>();
  const refused = new Map<string, RefusedTarget & { why: EgressRefusalKind; count: number }>();
  let more = 0;

  const findHost = (target: HostAndPort): HostEntry | null => {
    const key = formatHostAndPort(target);
    const known = hosts.get(key);
    if (known !== undefined || hosts.size >= maxListedHosts) return known ?? null;
    const { host, port } = target;
    const entry = {
      host,
      port,
      requests: 0,
      sentBytes: 0,
      receivedBytes: 0,
      secrets: new Set<string>(),
      open: new Set<Socket>(),
    };
    hosts.set(key, entry);
    return entry;
  };

  return {
    addRequest(target, secrets) {
      const entry = findHost(target);
      if (entry === null) {
        more++;
        return;
      }
      entry.requests++;
      for (const name of secrets) entry.secrets.add(name);
    },
    removeRequest(target) {
      const key = formatHostAndPort(target);
      const entry = hosts.get(key);
      if (entry === undefined) more--;
      else if (entry.requests > 1) entry.requests--;
      else hosts.delete(key);
    },
    addConnection(target, socket) {
      const entry = findHost(target);
      if (entry !== null) countBytes(entry, socket);
    },
    addRefusal({ host, port }, why) {
      const shown = host.slice(0, maxShownHost);
      const key = `${shown} ${port} ${why}`;
      const known = refused.get(key);
      if (known !== undefined) known.count++;
      else if (refused.size >= maxListedHosts) more++;
      else refused.set(key, { host: shown, port, why, count: 1 });
      return known === undefined && refused.has(key);
    },
    read: () => ({
      hosts: [...hosts.values()].map(readEntry),
      refused: [...refused.values()].map((entry) => ({ ...entry })),
      more,
    }),
  };
}

function countBytes(entry: HostEntry, socket: Socket): void {
  entry.open.add(socket);
  socket.once('close', () => {
    entry.open.delete(socket);
    entry.sentBytes += socket.bytesWritten;
    entry.receivedBytes += socket.bytesRead;
  });
}

function readEntry({ open, secrets, ...entry }: HostEntry): NetworkUsage['hosts'][number] {
  const sum = (count: (socket: Socket) => number): number =>
    [...open].reduce((total, socket) => total + count(socket), 0);
  return {
    ...entry,
    sentBytes: entry.sentBytes + sum((socket) => socket.bytesWritten),
    receivedBytes: entry.receivedBytes + sum((socket) => socket.bytesRead),
    secrets: [...secrets],
  };
}
