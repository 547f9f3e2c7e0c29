/** Finds the running server that a command asks over HTTP, and says what to do if none answers. It asks nothing itself. */
import type { ReachableServer } from '../core/command.ts';
import { copyEnvironment, readOperatorKey, toFlagOptions } from '../platform/config/config.ts';
import { toFlagName } from '../platform/config/setting.ts';
import { WorkcrateError } from '../platform/errors.ts';
import { bracketIpv6 } from '../surfaces/http/host-origin.ts';
import type { FetchError, FetchPolicy } from '../platform/net/bounded-fetch.ts';
import { programName } from '../platform/program.ts';
import { readServerAddress } from '../server/server-address.ts';
import { allSettings } from '../server/settings.ts';
import type { ProgramInput } from './command.ts';

interface FoundServer {
  readonly url: string;
  /** The id of the server that uses the data folder; null if another one may be at this address. */
  readonly instance: string | null;
}

/**
 * `--url` wins, then a port that was named, then what the data folder says; the usual port is tried only where nothing
 * was named.
 */
export function findServerAddress(input: AddressInput): FoundServer {
  const { host, port, data } = input.config;
  const named = findNamedServer(input);
  if (named !== null) return named;
  if (input.origins.get('data') !== 'default') throw noServerError(data);
  return { url: `http://${bracketIpv6(host)}:${port}`, instance: null };
}

type AddressInput = Pick<ProgramInput, 'config' | 'origins' | 'flags'>;

/** The same without the usual port: null where neither the command line nor the data folder names a server. */
function findNamedServer({ config: { host, port, data }, origins, flags }: AddressInput): FoundServer | null {
  if (flags['url'] !== undefined) return { url: flags['url'], instance: null };
  const isPortNamed = origins.get('port') !== 'default' && port !== 0;
  return isPortNamed
    ? { url: `http://${bracketIpv6(host)}:${port}`, instance: null }
    : readServerAddress(data);
}

/** The server that runs, or how to start one. It gets the settings that the command got, but for some. */
export function findOrStartServer(
  { flags, origins, ...rest }: AddressInput,
  without: readonly string[],
): ReachableServer {
  const named = findNamedServer({ flags, origins, ...rest });
  if (named !== null) return { url: named.url, key: readOperatorKey(flags) };
  const program = process.argv[1];
  if (program === undefined)
    throw new WorkcrateError('not_found', `No server is running. ${programName} serve starts one.`);
  const quiet = origins.get('logLevel') === 'default' ? ['--log-level', 'error'] : [];
  const hidden = new Set(without.map(toFlagName));
  const given = [...Object.keys(toFlagOptions(allSettings)), 'config'].flatMap((name) => {
    const value = hidden.has(name) ? undefined : flags[name];
    return value === undefined ? [] : [`--${name}=${value}`];
  });
  return {
    command: process.execPath,
    args: [...process.execArgv, program, 'stdio', ...given, ...quiet],
    env: copyEnvironment(without),
  };
}

export function checkServerUrl(text: string): URL {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null;
  if (url === null) throw new WorkcrateError('config_invalid', '--url takes an http:// or https:// URL.');
  return url;
}

function noServerError(data: string): WorkcrateError {
  return new WorkcrateError(
    'not_found',
    `No server is running with the data folder ${data}. ${programName} serve --data starts one; --port or --url name another.`,
  );
}

export function createServerNoAnswerError(
  url: string,
  cause: FetchError,
  { timeoutMs }: Pick<FetchPolicy, 'timeoutMs'>,
): WorkcrateError {
  const what =
    cause.kind === 'timeout'
      ? `${url} has not answered for ${timeoutMs / 1000} s.`
      : `Nothing answers at ${url}.`;
  return new WorkcrateError(
    'not_found',
    `${what} Is the server running? ${programName} serve starts one; --data, --port or --url name another.`,
    { cause },
  );
}

/** There was a connection, so what was asked for may have been done. */
export const brokenOffError = (url: string, cause: FetchError): WorkcrateError =>
  new WorkcrateError(
    'not_found',
    `The connection to ${url} broke off before the answer came, so what you asked for may have been done. Start the server if it has ended, and look before you ask again: ${programName} call search_executions lists runs.`,
    { cause },
  );
