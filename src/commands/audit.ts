import { auditFolder, auditLevels, type AuditLevel } from '../audit/audit.ts';
import { searchAudit, type AuditQuery, type FoundLines } from '../audit/search.ts';
import { lineText } from '../audit/text.ts';
import { verifyAudit, type Remark, type Verified } from '../audit/verify.ts';
import { WorkcrateError } from '../errors.ts';
import type { CommandInput } from './command.ts';
import { countOf } from './crates-flags.ts';
import { untilInterrupted } from './stopping.ts';

interface AuditInput extends CommandInput {
  /** What stands behind `audit`. */
  readonly words: readonly string[];
}

const actions: Readonly<Record<string, (input: AuditInput, words: readonly string[]) => Promise<number>>> = {
  verify,
  search,
  tail,
};

/** `workcrate audit verify|search|tail`: who did what. Works beside a running server, and only reads. */
export async function audit(input: AuditInput): Promise<number> {
  const [name = '', ...words] = input.words;
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action === undefined || (name !== 'search' && words.length > 0)) throw usage();
  return action(input, words);
}

function usage(): WorkcrateError {
  return new WorkcrateError(
    'config_invalid',
    'workcrate audit takes: verify, search [TEXT] or tail. See workcrate --help.',
  );
}

const asked = ({ flags }: AuditInput): boolean => flags['json'] !== undefined;

/** Exit code 1 where something was changed, removed or added. */
async function verify(input: AuditInput): Promise<number> {
  const told = await verifyAudit(auditFolder(input.config.data), input.config.auditKey);
  process.stdout.write(asked(input) ? `${JSON.stringify(told, null, 2)}\n` : verifiedText(told));
  return told.ok ? 0 : 1;
}

function verifiedText({ ok, files, lines, first, last, problems, notes }: Verified): string {
  const range =
    first && last ? `, from ${first.time} (seq ${first.seq}) to ${last.time} (seq ${last.seq})` : '';
  return [
    ...problems.map((remark) => `problem: ${remarkText(remark)}`),
    ...notes.map((remark) => `note: ${remarkText(remark)}`),
    `${lines} lines in ${files} files${range}`,
    ok ? 'No line was changed, removed or added.' : 'The audit log is not as it was written.',
    '',
  ].join('\n');
}

const remarkText = ({ file, line, what }: Remark): string =>
  `${file}${line === null ? '' : `, line ${line}`}: ${what}`;

async function search(input: AuditInput, words: readonly string[]): Promise<number> {
  const page = await found(input, { ...queryOf(input, 50), text: words.join(' ') || undefined });
  if (asked(input)) return print(`${JSON.stringify(page, null, 2)}\n`);
  const more = page.next === null ? '' : `There may be more: --before ${page.next}\n`;
  return print(`${textOf(page.lines)}${more}`);
}

/** The last lines, in the order in which they were written. */
async function tail(input: AuditInput): Promise<number> {
  const { lines } = await found(input, queryOf(input, 20));
  const inOrder = lines.toReversed();
  return print(asked(input) ? `${JSON.stringify({ lines: inOrder }, null, 2)}\n` : textOf(inOrder));
}

async function found({ config }: AuditInput, query: AuditQuery): Promise<FoundLines> {
  using interrupted = untilInterrupted();
  const { signal } = interrupted;
  return await searchAudit(auditFolder(config.data), query, {
    key: config.auditKey,
    signal,
    mostBytes: Infinity,
  });
}

const textOf = (lines: FoundLines['lines']): string => lines.map((line) => `${lineText(line)}\n`).join('');

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function queryOf({ flags }: AuditInput, usual: number): AuditQuery {
  const { user, operation, result } = flags;
  return {
    user,
    operation,
    result,
    level: levelOf(flags['level']),
    since: timeOf('since', flags['since']),
    until: timeOf('until', flags['until']),
    limit: countOf(flags, 'limit', usual, 10_000),
    before: flags['before'] === undefined ? undefined : countOf(flags, 'before', 0, 9_999_999_999),
  };
}

function levelOf(given: string | undefined): AuditLevel | undefined {
  const level = auditLevels.find((one) => one === given);
  if (given !== undefined && level === undefined)
    throw bad(`--level takes one of ${auditLevels.join(', ')}, not ${JSON.stringify(given)}`);
  return level;
}

const momentForm = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

function timeOf(name: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const time = momentForm.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(time))
    throw bad(
      `--${name} takes a day such as 2026-05-04 or a moment such as 2026-05-04T12:00Z, not ${JSON.stringify(given)}`,
    );
  return time;
}

function bad(problem: string): WorkcrateError {
  return new WorkcrateError('config_invalid', `${problem}. See workcrate --help.`);
}
