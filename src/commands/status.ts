import { operatorKey, type Config } from '../config.ts';
import { WorkcrateError } from '../errors.ts';
import { FetchError, fetchBounded, type FetchAnswer, type FetchPolicy } from '../net/bounded-fetch.ts';
import { notedAddress, type ServerAddress } from '../server-address.ts';
import { statusShape, type Status } from '../status.ts';
import { bracketed } from '../web/trusted-names.ts';
import type { CommandInput } from './command.ts';
import { statusText } from './status-text.ts';
import { program } from '../program.ts';

/** `workcrate status`: asks a running server how it is. Exit code 1 where it is not ready. */
export async function status({ config, origins, flags }: CommandInput): Promise<number> {
  const { url, instance } =
    flags['url'] === undefined ? addressOf(config, origins) : { url: flags['url'], instance: null };
  const told = await ask(url, operatorKey(flags));
  if (instance !== null && told.instance !== instance) throw anotherServer(url, config.data);
  process.stdout.write(flags['json'] === undefined ? statusText(url, told) : `${JSON.stringify(told)}\n`);
  return told.ready ? 0 : 1;
}

/** A port that was named wins over what the data folder says; the usual port is tried only where nothing was named. */
function addressOf(
  { host, port, data }: Config,
  origins: CommandInput['origins'],
): ServerAddress | { readonly url: string; readonly instance: null } {
  const isPortNamed = origins.get('port') !== 'default' && port !== 0;
  const noted = isPortNamed ? null : notedAddress(data);
  if (noted !== null) return noted;
  if (!isPortNamed && origins.get('data') !== 'default') throw noServer(data);
  return { url: `http://${bracketed(host)}:${port}`, instance: null };
}

function noServer(data: string): WorkcrateError {
  return new WorkcrateError(
    'not_found',
    `No server is running with the data folder ${data}. ${program} serve --data starts one; --port or --url name another.`,
  );
}

function anotherServer(url: string, data: string): WorkcrateError {
  return new WorkcrateError(
    'not_found',
    `The server of the data folder ${data} was at ${url} and crashed; another server is there now. ` +
      `${program} serve --data starts it again; --url asks the other one.`,
  );
}

const policy: FetchPolicy = { timeoutMs: 10_000, maxBytes: 1024 ** 2, privateAddresses: 'allowed' };

async function ask(url: string, key: string | null): Promise<Status> {
  const target = /^https?:\/\//.test(url) ? URL.parse(`${url.replace(/\/+$/, '')}/status`) : null;
  if (target === null) throw new WorkcrateError('config_invalid', '--url takes an http:// or https:// URL.');
  const headers: Record<string, string> = key === null ? {} : { Authorization: `Bearer ${key}` };
  try {
    return await fetchBounded(target, { headers }, policy, (answer) => readStatus(url, key, answer));
  } catch (error) {
    throw error instanceof FetchError ? silent(url, error) : error;
  }
}

async function readStatus(url: string, key: string | null, answer: FetchAnswer): Promise<Status> {
  if (answer.status === 401 || answer.status === 403) throw refused(answer.status, key);
  const told = statusShape.safeParse(await readJson(answer));
  if (answer.status === 200 && told.success) return told.data;
  throw new WorkcrateError(
    'not_found',
    `The server at ${url} is not a Workcrate, or does not show its status (HTTP ${answer.status}). Set the server with --url. ` +
      `One that a client started with ${program} stdio shows it only with --stdio-http.`,
  );
}

/** Null for anything that no Workcrate would answer. */
async function readJson(answer: FetchAnswer): Promise<unknown> {
  try {
    return JSON.parse(await answer.text()) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError || (error instanceof FetchError && error.kind === 'too_long'))
      return null;
    throw error;
  }
}

function silent(url: string, cause: FetchError): WorkcrateError {
  const late = cause.kind === 'timeout';
  const what = late
    ? `${url} has not answered for ${policy.timeoutMs / 1000} s.`
    : `Nothing answers at ${url}.`;
  return new WorkcrateError(
    'not_found',
    `${what} Is the server running? ${program} serve starts one; --data, --port or --url name another.`,
    { cause },
  );
}

function refused(status: 401 | 403, key: string | null): WorkcrateError {
  if (status === 403)
    return new WorkcrateError(
      'forbidden',
      `The status is for operators, and this key has no operator scope. Make one: ${program} user add NAME --scopes operator`,
    );
  const what = key === null ? 'The server requires a key.' : 'The server does not know this key.';
  return new WorkcrateError('unauthorized', `${what} Set WORKCRATE_KEY to the key of an operator.`);
}
