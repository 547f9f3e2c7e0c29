import { getAuditFolder, auditLevels, type AuditLevel } from '../core/audit/audit.ts';
import { formatRemark } from '../core/audit/chain.ts';
import { listAuditFiles, momentSchema, parseMoment } from '../core/audit/files.ts';
import { toPlainJson } from '../platform/text/text.ts';
import { findServerByFolder, forgetRemembered } from '../core/audit/read.ts';
import {
  formatFoundPage,
  positionForm,
  searchAudit,
  type AuditQuery,
  type FoundLines,
} from '../core/audit/tools.ts';
import { verifyAudit, type VerifyResult } from '../core/audit/verify.ts';
import { lockFolder } from '../platform/data-folder/data-folder.ts';
import { getErrno, type WorkcrateError } from '../platform/errors.ts';
import { findServerId } from '../server/server-id.ts';
import { readAuditMemory } from './audit-memory.ts';
import type { SubcommandOf } from './core-commands.ts';
import type { ProgramInput } from './command.ts';
import { noteChange } from '../core/audit/note-change.ts';
import { openUnlocked } from './open-unlocked.ts';
import { usageError } from '../platform/command-line/usage-error.ts';

const auditActions: Readonly<
  Record<SubcommandOf<'audit'>, (input: ProgramInput, words: readonly string[]) => Promise<number>>
> = { verify: verifyAuditLog, search: printFoundLines, tail: printLastLines, forget: forgetHead };

/** `workcrate audit verify|search|tail`: who did what. These work beside a running server, and only read. */
export async function runAudit(input: ProgramInput): Promise<number> {
  const [name, ...words] = input.words;
  return auditActions[name as SubcommandOf<'audit'>](input, words);
}

const isForPrograms = ({ flags }: ProgramInput): boolean => flags['json'] !== undefined;

/** Which lines search and tail show. */
const choices = ['user', 'operation', 'result', 'level', 'since', 'until', 'limit', 'before'] as const;

/** Exit code 1 where something was changed, removed or added, or where there is no log. */
async function verifyAuditLog(input: ProgramInput): Promise<number> {
  const chosen = choices.find((name) => input.flags[name] !== undefined);
  if (chosen !== undefined) throw auditUsageError(`verify reads the whole log and takes no --${chosen}`);
  const { config } = input;
  const asked = await readAuditMemory(config);
  const read = await verifyAudit(getAuditFolder(config.data), config.auditKey, asked.remembered);
  const result = { ...read, notes: [...read.notes, ...asked.notes] };
  const text = isForPrograms(input) ? toPlainJson(result, 2) : formatVerified(result, input);
  const printed = await printOrStop(text);
  return result.ok ? printed : 1;
}

/**
 * Forgets what the database remembers of the log, for operators who moved it away on purpose. The server has to be
 * stopped: it would remember its own again.
 */
async function forgetHead(input: ProgramInput): Promise<number> {
  const { config } = input;
  using _ = lockFolder(config.data);
  const database = await openUnlocked(input, true);
  try {
    const server = (await findServerId(database, config.data, findServerByFolder)) ?? '';
    const wasThere = await database.transaction(async (tx) => {
      const forgotten = await forgetRemembered(tx, server);
      if (forgotten)
        await noteChange(tx, { operation: 'audit_forget', subject: server, details: {} }, Date.now());
      return forgotten;
    });
    return await printOrStop(
      wasThere ? 'The database has forgotten the log.' : 'The database had no record of a log.',
    );
  } finally {
    await database.close();
  }
}

function formatVerified(
  { ok, files, lines, first, last, problems, notes }: VerifyResult,
  input: ProgramInput,
): string {
  if (files === 0 && lines === 0 && problems.length === 1)
    return describeMissingLog(input, problems[0]!.what);
  const range =
    first && last ? `, from ${first.time} (seq ${first.seq}) to ${last.time} (seq ${last.seq})` : '';
  return [
    ...problems.map((remark) => `problem: ${formatRemark(remark)}`),
    ...notes.map((remark) => `note: ${formatRemark(remark)}`),
    `${lines} lines in ${files} files${range}`,
    ok ? 'No line was changed, removed or added.' : 'The audit log is not as it was written.',
  ].join('\n');
}

function describeMissingLog({ config }: ProgramInput, what: string): string {
  const why =
    config.auditLevel === 'off'
      ? 'No log is written when audit_level is off.'
      : 'Is --data the folder of the server? If it is, and the server was used, the log was removed.';
  return `problem: ${getAuditFolder(config.data)}: ${what}\n${why}`;
}

async function printFoundLines(input: ProgramInput, words: readonly string[]): Promise<number> {
  const page = await findAuditLines(input, {
    ...parseAuditQuery(input, 50),
    text: words.join(' ') || undefined,
  });
  const text = isForPrograms(input)
    ? toPlainJson(page, 2)
    : formatFoundPage(page, (next) => `--before ${next}`);
  return printFound(input, page, text);
}

/** The last lines, in the order in which they were written. */
async function printLastLines(input: ProgramInput): Promise<number> {
  const page = await findAuditLines(input, parseAuditQuery(input, 20));
  const inOrder = { ...page, lines: page.lines.toReversed(), next: null };
  const text = isForPrograms(input)
    ? toPlainJson({ lines: inOrder.lines }, 2)
    : formatFoundPage(inOrder, String);
  return printFound(input, page, text);
}

/** If there is no log, it says so, and not that nothing was found. */
async function printFound(input: ProgramInput, { lines }: FoundLines, text: string): Promise<number> {
  const isThere = lines.length > 0 || (await listAuditFiles(getAuditFolder(input.config.data))).length > 0;
  if (isThere) return printOrStop(text);
  const printed = await printOrStop(
    isForPrograms(input) ? text : describeMissingLog(input, 'there is no log'),
  );
  return printed || 1;
}

/** SIGINT and SIGTERM end it as they end any program: nothing has to be put in order. */
const findAuditLines = async ({ config }: ProgramInput, query: AuditQuery): Promise<FoundLines> =>
  await searchAudit(getAuditFolder(config.data), query, { key: config.auditKey, mostBytes: Infinity });

/** The exit code that shells report after SIGPIPE. */
const brokenPipe = 141;
/** Not that of a log that was changed. */
const unprinted = 74;

/** Resolves once all was taken, with an exit code: a reader that goes away early has what it wanted. */
async function printOrStop(text: string): Promise<number> {
  const error = await new Promise<Error | null>((resolve) => {
    // Without a listener the error would end the process.
    process.stdout.on('error', resolve);
    process.stdout.write(`${text}\n`, (failure) => resolve(failure ?? null));
  });
  if (error === null) return 0;
  if (getErrno(error) === 'EPIPE') return brokenPipe;
  process.stderr.write(`workcrate: Cannot write to the output: ${error.message}\n`);
  return unprinted;
}

function parseAuditQuery({ flags }: ProgramInput, usual: number): AuditQuery {
  const { user, operation, result } = flags;
  return {
    user,
    operation,
    result,
    level: parseAuditLevel(flags['level']),
    since: parseMomentFlag('since', flags['since']),
    until: parseMomentFlag('until', flags['until']),
    limit: parseLimit(flags['limit'], usual),
    before: parseAfterFlag(flags['before']),
  };
}

const maxLines = 10_000;

function parseLimit(given: string | undefined, usual: number): number {
  if (given === undefined) return usual;
  const limit = /^\d{1,5}$/.test(given) ? Number(given) : 0;
  if (limit < 1 || limit > maxLines)
    throw auditUsageError(`--limit takes a whole number from 1 to ${maxLines}, not ${toPlainJson(given)}`);
  return limit;
}

function parseAuditLevel(given: string | undefined): AuditLevel | undefined {
  const level = auditLevels.find((one) => one === given);
  if (given !== undefined && level === undefined)
    throw auditUsageError(`--level takes one of ${auditLevels.join(', ')}, not ${toPlainJson(given)}`);
  return level;
}

function parseMomentFlag(name: string, given: string | undefined): number | undefined {
  if (given !== undefined && !momentSchema.safeParse(given).success)
    throw auditUsageError(
      `--${name} takes a day such as 2026-05-04 or a time such as 2026-05-04T12:00Z, not ${toPlainJson(given)}`,
    );
  return parseMoment(given);
}

function parseAfterFlag(given: string | undefined): string | undefined {
  if (given !== undefined && !positionForm.test(given))
    throw auditUsageError(
      `--before takes the position that the previous page printed, such as 2026-05-04:8192, not ${toPlainJson(given)}`,
    );
  return given;
}

const auditUsageError = (problem: string): WorkcrateError => usageError(problem, 'audit');
