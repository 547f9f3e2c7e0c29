import { join } from 'node:path';
import { localCaller } from '../core/identity.ts';
import { listUserUsage, type UserUsage } from '../server/instrumentation/counts.ts';
import { getWorkspacesFolder } from '../server/execution.ts';
import { measureFolder } from '../server/user-folders.ts';
import { formatBytes } from '../platform/text/text.ts';
import type { ProgramInput } from './command.ts';
import { openUnlocked } from './open-unlocked.ts';
import { formatMinute, formatTable } from '../platform/command-line/table.ts';

/** A user with the sizes of the folders that runs write to; null where one cannot be counted by this user. */
interface MeasuredUser extends UserUsage {
  readonly folder: string | null;
  readonly workspaceBytes: number | null;
  readonly artifactBytes: number | null;
}

/** `workcrate usage`: what each user stores and runs. Works beside a running server, and only reads. */
export async function runUsage(input: ProgramInput): Promise<number> {
  const { config, flags } = input;
  await using opened = new AsyncDisposableStack();
  const database = opened.adopt(await openUnlocked(input, false), (it) => it.close());
  const users = await listUserUsage(database, Date.now());
  const measured: MeasuredUser[] = [];
  for (const user of users) measured.push(await measureFoldersOfUser(user, getWorkspacesFolder(config)));
  process.stdout.write(flags['json'] === undefined ? formatUsage(measured) : toUsageJson(measured));
  return 0;
}

async function measureFoldersOfUser(user: UserUsage, places: string): Promise<MeasuredUser> {
  if (user.place === null) return { ...user, folder: null, workspaceBytes: 0, artifactBytes: 0 };
  const folder = join(places, String(user.place));
  const workspaceBytes = await measureFolder(join(folder, 'workspace'), maxUsageEntries);
  const artifactBytes = await measureFolder(join(folder, 'artifacts'), maxUsageEntries);
  return { ...user, folder, workspaceBytes, artifactBytes };
}

/** Beyond this nobody would wait for the answer. */
const maxUsageEntries = 5_000_000;

const heads = [
  'USER',
  'FILES',
  'BYTES',
  'LINKS',
  'RUNS',
  'LAST RUN',
  'WORKSPACE',
  'ARTIFACTS',
  'KEY USED',
  'FOLDER',
];

function formatUsage(users: readonly MeasuredUser[]): string {
  if (users.length === 0) return 'Nobody has used this server yet.\n';
  const total = `${countUsers(users)}, ${formatBytes(sumOverUsers(users, 'bytes'))} in ${sumOverUsers(users, 'files')} files`;
  return `${formatTable([heads, ...users.map(toUsageRow)])}${total}, ${sumOverUsers(users, 'activeLinks')} active links, ${sumOverUsers(users, 'runs')} runs\n`;
}

/** As status counts them: `local` is nobody who signs in. */
function countUsers(users: readonly UserUsage[]): string {
  const signing = users.filter(({ user }) => user !== localCaller.user).length;
  const rest = signing === users.length ? '' : ` and ${localCaller.user}`;
  return `${signing} ${signing === 1 ? 'user' : 'users'}${rest}`;
}

const sumOverUsers = (
  users: readonly UserUsage[],
  what: 'bytes' | 'files' | 'activeLinks' | 'runs',
): number => users.reduce((total, user) => total + user[what], 0);

const formatMoment = (time: number | null): string => (time === null ? 'never' : formatMinute(time));
const formatSize = (bytes: number | null): string => (bytes === null ? 'unknown' : formatBytes(bytes));

function toUsageRow(user: MeasuredUser): string[] {
  return [
    user.user,
    String(user.files),
    formatBytes(user.bytes),
    String(user.activeLinks),
    String(user.runs),
    formatMoment(user.lastRunAt),
    formatSize(user.workspaceBytes),
    formatSize(user.artifactBytes),
    user.keys === 0 ? 'no key' : formatMoment(user.keyUsedAt),
    user.folder ?? '',
  ];
}

function toUsageJson(users: readonly MeasuredUser[]): string {
  const iso = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());
  const shown = users.map((user) => ({
    user: user.user,
    files: user.files,
    bytes: user.bytes,
    active_links: user.activeLinks,
    runs: user.runs,
    last_run_at: iso(user.lastRunAt),
    workspace_bytes: user.workspaceBytes,
    artifact_bytes: user.artifactBytes,
    keys: user.keys,
    key_used_at: iso(user.keyUsedAt),
    folder: user.folder,
  }));
  return `${JSON.stringify(shown, null, 2)}\n`;
}
