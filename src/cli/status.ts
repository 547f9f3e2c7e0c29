import { readOperatorKey } from '../platform/config/config.ts';
import { WorkcrateError } from '../platform/errors.ts';
import {
  fetchBounded,
  FetchError,
  type FetchAnswer,
  type FetchPolicy,
} from '../platform/net/bounded-fetch.ts';
import { programName } from '../platform/program.ts';
import { statusShape, type ServerStatus } from '../server/status.ts';
import { formatBytes } from '../platform/text/text.ts';
import type { ProgramInput } from './command.ts';
import { checkServerUrl, findServerAddress, createServerNoAnswerError } from './find-server.ts';

/** `workcrate status`: asks a running server how it is. Exit code 1 where it is not ready. */
export async function runStatus({ config, origins, flags }: ProgramInput): Promise<number> {
  const { url, instance } = findServerAddress({ config, origins, flags });
  const status = await askForStatus(url, readOperatorKey(flags));
  if (instance !== null && status.instance !== instance) throw otherServerError(url, config.data);
  process.stdout.write(
    flags['json'] === undefined ? formatServerStatus(url, status) : `${JSON.stringify(status)}\n`,
  );
  return status.ready ? 0 : 1;
}

function otherServerError(url: string, data: string): WorkcrateError {
  return new WorkcrateError(
    'not_found',
    `The server of the data folder ${data} was at ${url} and crashed; another server is there now. ` +
      `${programName} serve --data starts it again; --url asks the other one.`,
  );
}

const statusFetchPolicy: FetchPolicy = {
  timeoutMs: 10_000,
  maxBytes: 1024 ** 2,
  privateAddresses: 'allowed',
};

async function askForStatus(url: string, key: string | null): Promise<ServerStatus> {
  const target = checkServerUrl(`${url.replace(/\/+$/, '')}/status`);
  const headers: Record<string, string> = key === null ? {} : { Authorization: `Bearer ${key}` };
  try {
    return await fetchBounded(target, { headers }, statusFetchPolicy, (answer) =>
      readStatus(url, key, answer),
    );
  } catch (error) {
    throw error instanceof FetchError ? createServerNoAnswerError(url, error, statusFetchPolicy) : error;
  }
}

async function readStatus(url: string, key: string | null, answer: FetchAnswer): Promise<ServerStatus> {
  if (answer.status === 401 || answer.status === 403) throw statusRefusedError(answer.status, key);
  const status = statusShape.safeParse(await readJsonAnswer(answer));
  if (answer.status === 200 && status.success) return status.data;
  throw new WorkcrateError(
    'not_found',
    `The server at ${url} is not a Workcrate, or does not show its status (HTTP ${answer.status}). Set the server with --url. ` +
      `One that a client started with ${programName} stdio shows it only with --stdio-http.`,
  );
}

/** Null for anything that no Workcrate would answer. */
async function readJsonAnswer(answer: FetchAnswer): Promise<unknown> {
  try {
    return JSON.parse(await answer.text()) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError || (error instanceof FetchError && error.kind === 'too_long'))
      return null;
    throw error;
  }
}

function statusRefusedError(status: 401 | 403, key: string | null): WorkcrateError {
  if (status === 403)
    return new WorkcrateError(
      'forbidden',
      `The status needs the scope metrics or operator, which this key lacks. Make a key with it: ${programName} user add NAME --scopes metrics`,
    );
  const what = key === null ? 'The server requires a key.' : 'The server does not know this key.';
  return new WorkcrateError(
    'unauthorized',
    `${what} Set WORKCRATE_KEY to a key with the scope metrics or operator.`,
  );
}

/** The status for people: one line for each thing worth a look. */
function formatServerStatus(url: string, status: ServerStatus): string {
  const { backends, files, links, executions, runs, transfers, disk } = status;
  const lines: [string, string][] = [
    ['server', `workcrate ${status.version} at ${url}, on Node ${status.node}`],
    ['which one', status.server],
    ['up for', formatUptime(status.uptime_seconds)],
    ['ready', status.ready ? 'yes' : `no: ${status.not_ready_because}`],
    ['database', backends.database],
    ['storage', backends.storage],
    ['code runs in', backends.sandbox],
    [
      'users',
      `${status.users}, ${backends.auth.length === 0 ? 'no auth' : `auth by ${backends.auth.join(' and ')}`}`,
    ],
    [
      'files',
      `${files.kept} of ${files.most_files}, ${formatBytes(files.bytes)} of ${formatBytes(files.most_bytes)}`,
    ],
    ['links', `${links.active} active; made since the start: ${formatCounts(links.made)}`],
    [
      'executions',
      `${executions.succeeded} succeeded, ${executions.failed} failed; since the start: ${formatCounts(executions.ended)}`,
    ],
    [
      'runs',
      `${runs.running} of ${runs.most} running, ${runs.queued} waiting, ${runs.warm} interpreters ready`,
    ],
    ['transfers', `${transfers.in} in, ${transfers.out} out, ${status.sessions} MCP sessions`],
    ['errors', formatCounts(status.errors)],
    [
      'disk',
      disk === null ? 'unknown' : `${formatBytes(disk.free_bytes)} of ${formatBytes(disk.total_bytes)} free`,
    ],
    ['last sweep', status.last_sweep ?? 'none yet'],
  ];
  return lines.map(([what, value]) => `${`${what}:`.padEnd(14)}${value}\n`).join('');
}

function formatCounts(counts: Readonly<Record<string, number>>): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.length === 0 ? 'none' : some.map(([name, count]) => `${count} ${name}`).join(', ');
}

function formatUptime(seconds: number): string {
  const [days, hours, minutes] = [seconds / 86_400, (seconds % 86_400) / 3600, (seconds % 3600) / 60];
  const parts = [
    `${Math.floor(days)} d`,
    `${Math.floor(hours)} h`,
    `${Math.floor(minutes)} min`,
    `${seconds % 60} s`,
  ];
  const first = parts.findIndex((part) => !part.startsWith('0 '));
  return parts.slice(first === -1 ? 3 : first, first === -1 ? 4 : first + 2).join(' ');
}
