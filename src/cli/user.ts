import { setTimeout as pause } from 'node:timers/promises';
import { othersNoticedMs, type Database } from '../ports/database/database.ts';
import { requestCancel } from '../core/runs/executions.ts';
import { bracketIpv6 } from '../surfaces/http/host-origin.ts';
import { endRights } from '../core/links/end-rights.ts';
import { programName } from '../platform/program.ts';
import { getLinkBase } from '../server/link-base.ts';
import { readServerAddress } from '../server/server-address.ts';
import { addUser, listKeys, rotateKey, type KeyTerms, type ListedKey } from '../core/users/keys.ts';
import {
  checkScopes,
  checkNewUserName,
  parseExpiry,
  metricsScope,
  operatorScope,
  defaultScopes,
} from '../core/users/names.ts';
import { removeUser } from '../core/users/remove.ts';
import { endUserInstalls } from '../features/packages/packages.ts';
import { deleteUserScripts } from '../features/scripts/scripts.ts';
import { endUserSessions } from '../core/runs/sessions/sessions.ts';
import type { SubcommandOf } from './core-commands.ts';
import type { ProgramInput } from './command.ts';
import { formatConnectLines } from '../server/connect-lines.ts';
import { noteChange } from '../core/audit/note-change.ts';
import { openUnlocked } from './open-unlocked.ts';
import { formatMinute, formatTable } from '../platform/command-line/table.ts';

const userActions: Readonly<
  Record<SubcommandOf<'user'>, (database: Database, input: ProgramInput, name: string) => Promise<string>>
> = { add: addUserCommand, list: listUserKeys, remove: removeUserByName, rotate };

/** `workcrate user add|list|remove|rotate`: who holds which key. Works beside a running server. */
export async function runUser(input: ProgramInput): Promise<number> {
  const [action, name = ''] = input.words;
  await using opened = new AsyncDisposableStack();
  const database = opened.adopt(await openUnlocked(input, action === 'add'), (it) => it.close());
  process.stdout.write(await userActions[action as SubcommandOf<'user'>](database, input, name));
  return 0;
}

/** What was said of a key. */
function parseKeyTerms({ flags }: ProgramInput, now: number): Partial<KeyTerms> {
  const { scopes, expires } = flags;
  return {
    ...(scopes === undefined ? {} : { scopes: checkScopes(scopes.split(',').map((word) => word.trim())) }),
    ...(expires === undefined ? {} : { expiresAt: parseExpiry(expires, now) }),
  };
}

async function addUserCommand(database: Database, input: ProgramInput, name: string): Promise<string> {
  const now = Date.now();
  const terms = { scopes: defaultScopes, expiresAt: null, ...parseKeyTerms(input, now) };
  const key = await addUser(database, checkNewUserName(name), terms, now, (tx, { after }) =>
    noteChange(tx, { operation: 'user_add', subject: name, details: toTermDetails(after) }, now),
  );
  const remedy = input.config.auth.includes('keys')
    ? ''
    : 'The server asks for keys only when started with --auth keys.\n';
  const granted = `Scopes: ${terms.scopes.join(', ')}. ${until(terms.expiresAt)}.\n`;
  return formatNewKey(key) + granted + howToUse(key, terms.scopes, input) + remedy;
}

/** With the address that a running server noted, since its settings may be others than those of this command. */
function howToUse(key: string, scopes: readonly string[], { config }: ProgramInput): string {
  const usual = `http://${bracketIpv6(config.host)}:${config.port || 9180}`;
  const base = config.publicUrl ?? readServerAddress(config.data)?.base ?? getLinkBase(config, usual);
  if (scopes.every((scope) => scope === operatorScope || scope === metricsScope))
    return `\n  WORKCRATE_KEY=${key} ${programName} status --url ${base}\n\n`;
  return `\n${formatConnectLines(base, key)}\n`;
}

async function rotate(database: Database, input: ProgramInput, name: string): Promise<string> {
  const now = Date.now();
  const key = await rotateKey(database, name, parseKeyTerms(input, now), now, (tx, { before, after }) => {
    const details = {
      ...toTermDetails(after),
      ...(before !== null && { scopes_before: before.scopes.join(' ') }),
    };
    return noteChange(tx, { operation: 'user_rotate', subject: name, details }, now);
  });
  return `${formatNewKey(key)}All earlier keys of ${name} have ended.\n`;
}

const toTermDetails = ({ scopes, expiresAt }: KeyTerms) => ({
  scopes: scopes.join(' '),
  expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
});

const formatNewKey = (key: string): string =>
  `${key}\n\nThat is the key. It is shown only now, and not stored.\n`;

const until = (expiresAt: number | null): string =>
  expiresAt === null ? 'Never expires' : `Expires ${formatMinute(expiresAt)}`;

async function removeUserByName(database: Database, _input: ProgramInput, name: string): Promise<string> {
  let [runs, scripts] = [0, 0];
  const { keys, links, uploads } = await removeUser(database, name, Date.now(), async (tx, owner, now) => {
    await endUserSessions(tx, owner, now);
    await endUserInstalls(tx, owner);
    scripts = await deleteUserScripts(tx, owner);
    runs = await requestCancel(tx, { owner }, 'removed_user');
    const ended = await endRights(tx, owner, now);
    await noteChange(
      tx,
      { operation: 'user_remove', subject: owner, details: { ...ended, runs, scripts } },
      now,
    );
    return { ...ended, others: scripts };
  });
  // What a server remembers of links it may still answer for so long. When this command has ended, it does not.
  await pause(2 * othersNoticedMs);
  return (
    `Removed ${name}. Ended at once: ${formatAmount(keys, 'key')}, ${formatAmount(links, 'link')}, ${formatAmount(uploads, 'upload')} under way or to come.\n` +
    (runs === 0 ? '' : `${formatAmount(runs, 'run')} under way will end within seconds.\n`) +
    (scripts === 0 ? '' : `Deleted with the user: ${formatAmount(scripts, 'script')}.\n`) +
    `Artifacts and packed crates stay, and files until they expire. A new user named ${name} would get them.\n`
  );
}

const formatAmount = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;

async function listUserKeys(database: Database, { flags }: ProgramInput): Promise<string> {
  const keys = await listKeys(database);
  if (flags['json'] !== undefined) return `${JSON.stringify(keys.map(toKeyJson), null, 2)}\n`;
  if (keys.length === 0) return `There are no users. ${programName} user add NAME makes one.\n`;
  return formatTable([['USER', 'KEY', 'SCOPES', 'MADE', 'EXPIRES', 'LAST USED'], ...keys.map(toKeyRow)]);
}

function toKeyJson({ user, id, scopes, createdAt, expiresAt, lastUsedAt }: ListedKey) {
  const iso = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());
  const times = { created_at: iso(createdAt), expires_at: iso(expiresAt), last_used_at: iso(lastUsedAt) };
  return { user, key_id: id, scopes, ...times };
}

function toKeyRow({ user, id, scopes, createdAt, expiresAt, lastUsedAt }: ListedKey): string[] {
  const over = expiresAt !== null && expiresAt <= Date.now() ? ' (over)' : '';
  const expires = expiresAt === null ? 'never' : `${formatMinute(expiresAt)}${over}`;
  return [
    user,
    id,
    scopes.join(','),
    formatMinute(createdAt),
    expires,
    lastUsedAt === null ? 'never' : formatMinute(lastUsedAt),
  ];
}
