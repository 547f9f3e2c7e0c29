/**
 * Wraps tools and routes so that each call gets a line, and decides which failures are violations. Which fields of a
 * call are shown is declared by the tool (`auditFields`). It never changes a result.
 */
import { asWorkcrateError, type ErrorCode, type WorkcrateError } from '../../platform/errors.ts';
import { hashLinkToken, isToken, toPublicId } from '../links/link.ts';
import type { AnsweredRequest, RefusedCall } from '../offer/request.ts';
import { isQuestion, type AuditFields, type Question, type Tool, type ToolAnswer } from '../offer/tool.ts';
import type { PathRefusalKind } from '../../platform/paths/paths.ts';
import { decodePercentAscii, withoutSecrets } from '../../platform/text/secrets.ts';
import { noAuditUser, type Audit, type Details, type NoteRequest } from './audit.ts';
import { isRunTool } from './run-lines.ts';

/**
 * The same tool, with a line for every call, unless it writes one of its own. The line of a call that has changed
 * something is on disk before the answer; that of a run is written again from its row where a loss of power took it.
 */
export function auditTool(tool: Tool, audit: Audit): Tool {
  if (tool.auditsItself === true) return tool;
  const { auditFields } = tool;
  const isSynced = tool.annotations.readOnlyHint !== true && !isRunTool(tool.name);
  return {
    ...tool,
    async handle(input, context) {
      const event = {
        operation: tool.name,
        user: context.caller.user,
        client: context.client.name,
        subject: findSubject(auditFields, input),
        details: listNamedFiles(auditFields, input),
      };
      try {
        const answer = await tool.handle(input, context);
        const { made, facts, ...outcome } = readDeclaredOutcome(auditFields, answer);
        const details = { ...event.details, ...facts };
        audit.note({ ...event, subject: event.subject ?? made, ...outcome, details });
        if (isSynced) await audit.synced();
        return answer;
      } catch (error) {
        const subject = event.subject ?? findFailedSubject(auditFields, input);
        noteFailure(audit, { ...event, subject }, error, context.signal);
        throw error;
      }
    },
  };
}

type CallFields = Readonly<Record<string, unknown>>;

/** A run that was cancelled is an answer too, and not a success. */
function readDeclaredOutcome(declared: AuditFields, answer: ToolAnswer<unknown> | Question) {
  if (isQuestion(answer)) return { level: 'trace', result: 'asked', made: null, facts: {} } as const;
  const structured = answer.structured as CallFields;
  const about = {
    made: findFirstText(declared.made ?? [], structured),
    facts: readFacts(declared, structured),
  };
  const isCancelled = declared.runEnd !== undefined && structured[declared.runEnd.reason] === 'cancelled';
  if (isCancelled) return { level: 'info', result: 'cancelled', ...about } as const;
  return { level: 'trace', result: 'ok', ...about } as const;
}

/** How a run ended, and the public id of a link that was made, as in the lines of its downloads. */
function readFacts({ runEnd, newToken }: AuditFields, structured: CallFields): Details {
  const token = newToken === undefined ? null : structured[newToken];
  const link = typeof token === 'string' ? toPublicLink(token) : null;
  return {
    ...(runEnd !== undefined && {
      end_reason: structured[runEnd.reason] as string,
      exit_code: structured[runEnd.exitCode] as number | null,
      ...readBackground(structured[runEnd.background ?? '']),
    }),
    ...(link !== null && { link }),
  };
}

/** Only of a run that went on without its call. */
const readBackground = (background: unknown): Details =>
  typeof background === 'string' ? { background } : {};

/** What a call is about. Its arguments need not fit the schema of the tool: it may have been refused for that. */
function findSubject({ subject, link }: AuditFields, given: CallFields): string | null {
  return (link === undefined ? null : findLinkId(link, given)) ?? findFirstText(subject, given);
}

function findLinkId(names: NonNullable<AuditFields['link']>, given: CallFields): string | null {
  const { [names.id]: id, [names.token]: token } = given;
  // Where an id is asked for, some give the token.
  if (typeof id === 'string') return toPublicLink(id) ?? id;
  return typeof token === 'string' ? toPublicLink(token) : null;
}

const findFailedSubject = ({ failed = [] }: AuditFields, given: CallFields): string | null =>
  findFirstText(failed, given);

function findFirstText(names: readonly string[], fields: CallFields): string | null {
  return names.map((name) => toSubject(fields[name])).find((text) => text !== null) ?? null;
}

/** A list of names is one subject. */
function toSubject(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value) || value.length === 0) return null;
  const named = value.filter((each) => typeof each === 'string').slice(0, maxFileNames);
  return named.map(quoteFileName).join(' ');
}

/** The public id of a token, which is secret; null for anything else, which could be a misspelt token. */
function toPublicLink(reference: string): string | null {
  const given = reference.slice(reference.lastIndexOf('/') + 1).trim();
  return isToken(given) ? toPublicId(hashLinkToken(given)) : null;
}

/** A line has room for so many; it also says how many there were. */
const maxFileNames = 20;
const maxFileNameLength = 100;

/** The files that a call names besides. */
function listNamedFiles({ files: lists = [] }: AuditFields, input: CallFields): Details {
  const named = lists.flatMap((list) => {
    const files: unknown = input[list];
    return Array.isArray(files) ? files.map(getFileReference).filter((name) => name !== null) : [];
  });
  if (named.length === 0) return {};
  return {
    files: named.slice(0, maxFileNames).map(quoteFileName).join(' '),
    files_count: named.length,
  };
}

/** Quoted unless plain, so that no name passes for two. What is cut would not be known for a secret any more. */
function quoteFileName(name: string): string {
  const start = withoutSecrets(name).slice(0, maxFileNameLength);
  return /^[\w./…-]+$/.test(start) ? start : JSON.stringify(start);
}

function getFileReference(file: unknown): string | null {
  if (typeof file === 'string') return file;
  const { path } = (file ?? {}) as { path?: unknown };
  return typeof path === 'string' ? path : null;
}

/** Lines for what is asked for over HTTP, under the names of the tools that give the same. */
export function auditRequests(audit: Audit): NoteRequest {
  return async ({ operation, user, subject, signal }, work) => {
    const event = { operation, user: user ?? noAuditUser, client: null, subject };
    let details: Details = { via: 'http' };
    try {
      const done = await work((more) => void (details = { ...details, ...more }));
      audit.note({ ...event, level: 'trace', result: 'ok', details });
      return done;
    } catch (cause) {
      noteFailure(audit, { ...event, details }, cause, signal);
      throw cause;
    }
  };
}

/**
 * A line for each call that does not come as far as a tool. One that brings a state that was not given to it is a
 * violation. One that the key or token is not good for is a mistake: agents are shown tools that their key lacks.
 */
export function auditRefusedCalls(audit: Audit, tools: readonly Pick<Tool, 'name' | 'auditFields'>[]) {
  const declared = new Map(tools.map(({ name, auditFields }) => [name, auditFields]));
  return ({ tool, given, user, client, error }: RefusedCall): void => {
    const auditFields = declared.get(tool);
    const about =
      auditFields === undefined
        ? { operation: 'tools/call', subject: tool }
        : {
            operation: tool,
            subject: findSubject(auditFields, given) ?? findFailedSubject(auditFields, given),
          };
    const event = { ...about, user, client, result: error.code };
    const { kind, ...details } = error.details;
    if (typeof kind === 'string') audit.violation({ ...event, details }, kind, error);
    else audit.note({ ...event, level: 'info', ...(hasFields(details) && { details }) });
  };
}

/** A line for each request for resources, prompts and completions. Its subject is the URI, or the name of the prompt. */
export function auditAnsweredRequests(audit: Audit) {
  return ({ method, subject, user, client, error, signal }: AnsweredRequest): void => {
    const event = { operation: method, user, client, subject };
    if (error === null) audit.note({ ...event, level: 'trace', result: 'ok' });
    else noteFailure(audit, event, error, signal);
  };
}

const hasFields = (details: object): boolean => Object.keys(details).length > 0;

type ViolationEvent = Parameters<Audit['violation']>[0];

/** Notes how something failed: a violation where more was tried than may be had. */
function noteFailure(
  audit: Audit,
  event: Omit<ViolationEvent, 'result'>,
  cause: unknown,
  signal?: AbortSignal,
): void {
  const error = asWorkcrateError(cause);
  const subject = event.subject ?? toTextOrNull(error.details['path']);
  const kind = findViolation(error, subject);
  if (kind !== null) audit.violation({ ...event, subject, result: error.code }, kind, error);
  else audit.note({ ...event, level: 'info', result: signal?.aborted === true ? 'cancelled' : error.code });
}

const toTextOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const violationCodes: ReadonlySet<ErrorCode> = new Set(['path_refused', 'forbidden', 'unauthorized']);
/** What a name that leads elsewhere comes to where names and not paths are taken. */
const absenceCodesOfCalls: ReadonlySet<ErrorCode> = new Set(['invalid_input', 'not_found', 'path_not_found']);

/** Kinds of refused paths that lead nowhere else: plain mistakes, such as a folder where a file was meant. */
const harmlessRefusals: ReadonlySet<unknown> = new Set<PathRefusalKind>([
  'busy',
  'denied',
  'empty',
  'hidden',
  'not_empty',
  'not_folder',
  'not_regular',
  'not_unicode',
  'too_deep',
  'too_long',
]);

function findViolation({ code, details }: WorkcrateError, subject: string | null): string | null {
  if (code === 'path_refused' && harmlessRefusals.has(details['kind'])) return null;
  // A key that lacks a scope is asked for more than it is good for, by somebody who could not know.
  if (code === 'forbidden' && details['scope'] !== undefined) return null;
  if (violationCodes.has(code)) return String(details['kind'] ?? code);
  return absenceCodesOfCalls.has(code) && subject !== null && leavesFolder(subject) ? 'traversal' : null;
}

/** As decoded by those who look twice; two of the separators are no UTF-8, and were taken for such by some. */
const separator = String.raw`(?:[/\\]|%c0%af|%c1%9c)`;
const parentFolderForm = new RegExp(`(?:^|${separator})\\.\\.(?:$|${separator})`, 'i');
const maxPathLookedAt = 4096;

function leavesFolder(path: string): boolean {
  const decoded = decodePercentAscii(decodePercentAscii(path.slice(0, maxPathLookedAt)));
  return parentFolderForm.test(decoded);
}
