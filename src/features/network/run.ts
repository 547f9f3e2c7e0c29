/**
 * One run at the proxy: what it may use, what it used, and all its connections, so that they can be ended at once. It
 * speaks no protocol.
 */
import type { Duplex } from 'node:stream';
import type { Log } from '../../platform/observability/log.ts';
import { toAddressLiteral } from '../../platform/net/addresses.ts';
import type { HostAndPort } from '../../platform/net/host-names.ts';
import { findHostFault, type HostRules } from '../../platform/net/host-rules.ts';
import type { EgressLimits } from './limits.ts';
import { limitPace, type TrafficPace } from './pace.ts';
import { refuseAddress, refuseHost, refuseMany, refusePort, type Refusal } from './refusal.ts';
import { createUsageRecord, type UsageRecord } from './usage.ts';

export interface EgressGrant {
  readonly user: string;
  /** The id of the execution, for the log. */
  readonly run: string;
  readonly rules: HostRules;
  /** Hosts that the operator named with their port: allowed in this grant, at a private address too. */
  readonly privateHosts?: readonly HostAndPort[] | undefined;
}

export class EgressRun {
  readonly grant: EgressGrant;
  readonly usage: UsageRecord = createUsageRecord();
  /** Of requests and connections, and of small pieces of data. */
  readonly beginnings: TrafficPace;
  readonly pieces: TrafficPace;
  readonly #limits: EgressLimits;
  readonly #log: Log;
  readonly #streams = new Set<Duplex>();
  /** Connections that the code has opened. */
  connections = 0;
  #requests = 0;
  #isClosed = false;

  constructor(grant: EgressGrant, limits: EgressLimits, log: Log) {
    this.grant = grant;
    this.#limits = limits;
    this.#log = log;
    this.beginnings = limitPace(limits.beginningsPerSecond);
    this.pieces = limitPace(limits.piecesPerSecond);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** It is destroyed with the run, or at once if the run is over. */
  own(stream: Duplex): void {
    // An error comes with 'close', which is what everybody here waits for.
    stream.on('error', () => {});
    if (this.#isClosed) {
      stream.destroy();
      return;
    }
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
  }

  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.destroy();
    this.#streams.clear();
  }

  /** Throws where the host or port is not allowed, or it was too much already. */
  judge(target: HostAndPort): void {
    const { host, port } = target;
    const { rules } = this.grant;
    if (!this.mayBePrivate(target)) {
      const fault = findHostFault(rules, host, port);
      if (fault === 'host' && toAddressLiteral(host) !== null) throw refuseAddress(target);
      if (fault === 'host') throw refuseHost(target, rules);
      if (fault === 'port') throw refusePort(target, rules);
    }
    this.#requests++;
    if (this.#requests > this.#limits.requests)
      throw refuseMany(
        `A run may make ${this.#limits.requests} requests, and this one has made them.`,
        target,
      );
  }

  mayBePrivate({ host, port }: HostAndPort): boolean {
    return (this.grant.privateHosts ?? []).some((one) => one.host === host && one.port === port);
  }

  /** Each kind is logged once: code can ask a million times. */
  recordRefusal({ kind: why, target: { host, port } }: Refusal): void {
    if (why === null || !this.usage.addRefusal({ host, port }, why)) return;
    const { user, run } = this.grant;
    this.#log.info('egress.refused', { user, run, host, port, why });
  }
}
