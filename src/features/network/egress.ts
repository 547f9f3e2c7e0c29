/**
 * The way out of the sandbox: one proxy, outside of it, that lets a run speak HTTP and TLS to the hosts of its
 * allow-list, by name, at public addresses, and adds named secrets that the run never holds.
 * It does not bring connections out of a sandbox, reads no settings and stores nothing: whoever uses it hands it the
 * connections of a run, and takes what the run used for the record.
 */
import type { Socket, TcpNetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import { WorkcrateError } from '../../platform/errors.ts';
import type { HostAddresses } from '../../platform/net/host-addresses.ts';
import type { Log } from '../../platform/observability/log.ts';
import { openAuthority } from './authority.ts';
import { defaultLimits, type EgressLimits } from './limits.ts';
import { EgressProxy } from './proxy.ts';
import { createEgressRoutes } from './routes.ts';
import { EgressRun, type EgressGrant } from './run.ts';
import { checkSecrets, type NamedSecret, type SecretOptions } from './secrets.ts';
import type { NetworkUsage } from './usage.ts';

export type { EgressGrant } from './run.ts';
export type { EgressRefusalKind } from './refusal.ts';
export { loadSecrets } from './secret-file.ts';
export type { SecretOptions } from './secrets.ts';
export type { NetworkUsage } from './usage.ts';

export interface EgressOptions {
  readonly log: Log;
  readonly secrets?: readonly SecretOptions[] | undefined;
  /** Ends TLS for hosts that have a secret, with an authority that is kept in this folder of the server. */
  readonly interceptTls?: { readonly folder: string; readonly trusted?: string | undefined } | undefined;
  /**
   * Names that lead to an address of the operator's choice, private or not: by `host:port`, or by `host` for all its
   * ports. They have to be allowed like any other.
   */
  readonly addresses?: HostAddresses | undefined;
  readonly limits?: Partial<EgressLimits> | undefined;
  /** In place of the system's own, for tests. */
  readonly lookUp?: ((host: string) => Promise<readonly string[]>) | undefined;
  readonly connect?: ((options: TcpNetConnectOpts) => Socket) | undefined;
}

export interface Egress extends AsyncDisposable {
  /** What code in the sandbox has to trust, as PEM; null where TLS is not ended here. */
  readonly certificate: string | null;
  /** A way out for one run. */
  open(grant: EgressGrant): EgressNetwork;
}

export interface EgressNetwork {
  /** Takes over a connection whose bytes come from the code of the run. It speaks HTTP as to a proxy. */
  accept(connection: Duplex): void;
  /** What it used so far. */
  readonly usage: NetworkUsage;
  /** Ends all its connections; nothing is accepted afterwards. Gives the final usage. */
  close(): NetworkUsage;
}

export function createEgress(options: EgressOptions): Egress {
  const { log, interceptTls } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const secrets = checkSecrets(options.secrets ?? []);
  const hosts = listTlsHosts(secrets, interceptTls !== undefined);
  const authority = interceptTls && hosts.length > 0 ? openAuthority(interceptTls.folder, hosts) : null;
  const { connectMs } = limits;
  const { addresses = new Map(), lookUp, connect } = options;
  const routes = createEgressRoutes({ addresses, connectMs, lookUp, connect });
  const proxy = new EgressProxy({ limits, routes, secrets, authority, trusted: interceptTls?.trusted, log });
  const runs = new Set<EgressRun>();
  return {
    certificate: authority?.certificate ?? null,
    open(grant) {
      const run = new EgressRun(grant, limits, log);
      runs.add(run);
      return {
        accept: (connection) => proxy.accept(run, connection),
        get usage() {
          return run.usage.read();
        },
        close() {
          runs.delete(run);
          run.close();
          return run.usage.read();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const run of runs) run.close();
      runs.clear();
    },
  };
}

/** Refuses secrets that could not be used. It opens nothing. */
export function checkUsableSecrets(options: readonly SecretOptions[], isIntercepting: boolean): void {
  listTlsHosts(checkSecrets(options), isIntercepting);
}

/** A secret for TLS is of no use where TLS is passed through; silence would let somebody believe that it is. */
function listTlsHosts(secrets: readonly NamedSecret[], isIntercepting: boolean): string[] {
  const found = secrets.filter(({ origin }) => origin.scheme === 'https');
  if (found.length > 0 && !isIntercepting)
    throw new WorkcrateError(
      'config_invalid',
      `The network secret ${found[0]!.name} is for https, which needs --network-tls. For plain HTTP, set its scheme to http.`,
    );
  return found.map(({ origin }) => origin.host);
}
