/**
 * The network of runs as the settings say: none, that of the host, or by the egress proxy to a list of hosts. It judges
 * nothing itself (`features/network/` does), and records nothing (`core/runs/` does).
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import type { Audit } from '../core/audit/audit.ts';
import { readEnvironmentVariable } from '../platform/config/config.ts';
import type { ServerConfig as Config } from './settings.ts';
import { createEgress, checkUsableSecrets, loadSecrets, type Egress } from '../features/network/egress.ts';
import { isWorkcrateError, WorkcrateError } from '../platform/errors.ts';
import type { Execution } from '../core/runs/executions.ts';
import type { NetworkPort } from '../features/network/runs.ts';
import { formatHostRules, narrowRules, parseHostRules, type HostRules } from '../platform/net/host-rules.ts';
import type { Log } from '../platform/observability/log.ts';
import type { OpenInstallNetwork } from '../features/packages/packages.ts';
import type { RunNetwork } from '../ports/sandbox/sandbox.ts';

/** What `allow:` in --sandbox-network names; null where runs have no list. */
function readAllowedHosts({ sandboxNetwork }: Pick<Config, 'sandboxNetwork'>): HostRules | null {
  if (!sandboxNetwork.startsWith('allow:')) return null;
  return parseSetting('--sandbox-network', () => parseHostRules(sandboxNetwork.slice('allow:'.length)));
}

/** In words for descriptions and answers. */
const describeAllowedHosts = (rules: HostRules): string => formatHostRules(rules).replaceAll(',', ', ');

export interface RunNetworks extends AsyncDisposable {
  readonly egress: Egress;
  /** A folder with the certificates that code has to trust; null where those of the system do. */
  readonly certificates: string | null;
  /** Gives runs their way out; null where they have none of their own. */
  readonly port: NetworkPort | null;
  /** Gives an install its way out: to these hosts of the operator, at private addresses too. */
  readonly openForInstall: OpenInstallNetwork;
}

export function openNetworks(config: Config, audit: Audit, log: Log): RunNetworks {
  const { networkSecrets, networkTls, data } = config;
  const folder = join(data, 'egress');
  const egress = createEgress({
    log,
    secrets: networkSecrets === null ? [] : loadSecrets(networkSecrets, readEnvironmentVariable),
    interceptTls: networkTls ? { folder } : undefined,
    addresses: readAddresses(config),
  });
  const rules = readAllowedHosts(config);
  return {
    egress,
    certificates: egress.certificate === null ? null : writeCertificates(folder, egress.certificate),
    port: rules === null ? null : toNetworkPort(egress, rules),
    openForInstall({ user }, run, hosts) {
      const { accept, close } = egress.open({ user, run, rules: [], privateHosts: hosts });
      const finish = (): void => auditUse(audit, { id: run, owner: user }, close());
      return { accept, close: finish, environment: describeProxy };
    },
    [Symbol.asyncDispose]: () => egress[Symbol.asyncDispose](),
  };
}

/** Refuses lists of hosts, addresses and secrets that cannot be used. It opens nothing. */
export function demandNetworkSettings(config: Config): void {
  readAllowedHosts(config);
  readAddresses(config);
  if (config.networkSecrets === null) return;
  checkUsableSecrets(loadSecrets(config.networkSecrets, readEnvironmentVariable), config.networkTls);
}

function toNetworkPort(egress: Egress, rules: HostRules): NetworkPort {
  return {
    allowed: describeAllowedHosts(rules),
    environment: describeProxy,
    open({ user }, execution, hosts) {
      const asked = hosts === null ? rules : narrowRules(rules, parseHostRules(hosts));
      const { accept, close } = egress.open({ user, run: execution, rules: asked });
      return { accept, close, environment: describeProxy };
    },
  };
}

/** The variables by which programs find the proxy, in every spelling that is in use, and what they have to trust. */
const describeProxy: RunNetwork['environment'] = (proxyUrl, certificates) => ({
  http_proxy: proxyUrl,
  https_proxy: proxyUrl,
  HTTP_PROXY: proxyUrl,
  HTTPS_PROXY: proxyUrl,
  no_proxy: 'localhost,127.0.0.1,::1',
  NO_PROXY: 'localhost,127.0.0.1,::1',
  NODE_USE_ENV_PROXY: '1',
  ...(certificates === null
    ? {}
    : {
        SSL_CERT_FILE: `${certificates}/all.pem`,
        REQUESTS_CA_BUNDLE: `${certificates}/all.pem`,
        CURL_CA_BUNDLE: `${certificates}/all.pem`,
        GIT_SSL_CAINFO: `${certificates}/all.pem`,
        NODE_EXTRA_CA_CERTS: `${certificates}/own.pem`,
      }),
});

const systemCertificates = '/etc/ssl/certs/ca-certificates.crt';

/** That of our own authority, by itself and with those of the system: most programs take one file for all. */
function writeCertificates(parent: string, own: string): string {
  const folder = join(parent, 'certificates');
  const others = existsSync(systemCertificates)
    ? readFileSync(systemCertificates, 'utf8')
    : rootCertificates.join('\n');
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  writeFileSync(join(folder, 'own.pem'), own, { mode: 0o644 });
  writeFileSync(join(folder, 'all.pem'), `${others.trimEnd()}\n${own}`, { mode: 0o644 });
  return folder;
}

/** `host=address:port` or `host:port=address:port`. */
function readAddresses({ networkAddresses }: Config) {
  return new Map(
    networkAddresses.map((entry) => {
      const [, name, address, port] = /^([^=]+)=(\[[^\]]+\]|[^:[\]]+):(\d{1,5})$/.exec(entry) ?? [];
      if (name === undefined || address === undefined) throw badAddressError(entry);
      return [
        name.toLowerCase(),
        { address: address.replace(/^\[(.*)\]$/, '$1'), port: Number(port) },
      ] as const;
    }),
  );
}

const badAddressError = (entry: string): WorkcrateError =>
  new WorkcrateError(
    'config_invalid',
    `--network-addresses: ${JSON.stringify(entry)} is not a name and an address, such as api.example.org=127.0.0.1:8080.`,
  );

const maxAuditedHosts = 20;

/** A line for each run that used the network, and a warning where something was refused. */
export function auditUse(
  audit: Audit,
  { id, owner }: Pick<Execution, 'id' | 'owner'>,
  { hosts, refused, more }: NonNullable<Execution['network']>,
): void {
  if (hosts.length + refused.length + more === 0) return;
  const names = (entries: readonly { host: string; port: number | null }[]): string =>
    entries
      .slice(0, maxAuditedHosts)
      .map(({ host, port }) => (port === null ? host : `${host}:${port}`))
      .join(' ');
  audit.note({
    level: refused.length === 0 ? 'trace' : 'warning',
    operation: 'network',
    user: owner,
    client: null,
    subject: id,
    result: refused.length === 0 ? 'ok' : 'refused',
    details: {
      hosts: names(hosts),
      sent_bytes: hosts.reduce((sum, { sentBytes }) => sum + sentBytes, 0),
      received_bytes: hosts.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0),
      ...(refused.length === 0
        ? {}
        : { refused: names(refused), refused_why: [...new Set(refused.map(({ why }) => why))].join(' ') }),
      ...(more === 0 ? {} : { more }),
    },
  });
}

/** What is wrong with a setting is told with its name. */
function parseSetting<T>(flag: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!isWorkcrateError(error, 'invalid_input')) throw error;
    throw new WorkcrateError('config_invalid', `${flag}: ${error.message}`, { cause: error });
  }
}
