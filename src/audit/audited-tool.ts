import { hashToken, isToken, publicId } from '../links/tokens.ts';
import { isQuestion, type AuditFields, type Question, type Tool, type ToolAnswer } from '../mcp/tool.ts';
import { withoutSecrets } from '../secrets.ts';
import type { Audit, Details } from './audit.ts';
import { noteFailure } from './failure.ts';
import { isRunTool } from './run-lines.ts';

/**
 * The same tool, with a line for every call, unless it writes one of its own. The line of a call that has changed
 * something is on disk before the answer; that of a run is written again from its row where a loss of power took it.
 */
export function auditedTool(tool: Tool, audit: Audit): Tool {
  if (tool.isNoted === true) return tool;
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
        details: listFiles(auditFields, input),
      };
      try {
        const answer = await tool.handle(input, context);
        const { made, facts, ...outcome } = readOutcome(auditFields, answer);
        const details = { ...event.details, ...facts };
        audit.note({ ...event, subject: event.subject ?? made, ...outcome, details });
        if (isSynced) await audit.synced();
        return answer;
      } catch (error) {
        noteFailure(audit, event, error, context.signal);
        throw error;
      }
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** A run that was cancelled is an answer too, and not a success. */
function readOutcome(declared: AuditFields, answer: ToolAnswer<unknown> | Question) {
  if (isQuestion(answer)) return { level: 'trace', result: 'asked', made: null, facts: {} } as const;
  const structured = answer.structured as Fields;
  const about = {
    made: firstText(declared.made ?? [], structured),
    facts: readFacts(declared, structured),
  };
  const isCancelled = declared.runEnd !== undefined && structured[declared.runEnd.reason] === 'cancelled';
  if (isCancelled) return { level: 'info', result: 'cancelled', ...about } as const;
  return { level: 'trace', result: 'ok', ...about } as const;
}

/** How a run ended, and which link was made: its downloads are told by the same name. */
function readFacts({ runEnd, newToken }: AuditFields, structured: Fields): Details {
  const token = newToken === undefined ? null : structured[newToken];
  const link = typeof token === 'string' ? toPublicLink(token) : null;
  return {
    ...(runEnd !== undefined && {
      end_reason: structured[runEnd.reason] as string,
      exit_code: structured[runEnd.exitCode] as number | null,
    }),
    ...(link !== null && { link }),
  };
}

/** What a call is about. Its arguments need not fit the schema of the tool: it may have been refused for that. */
export function findSubject({ subject, link }: AuditFields, given: Fields): string | null {
  const found = firstText(subject, given);
  if (found !== null || link === undefined) return found;
  const { [link.id]: id, [link.token]: token } = given;
  // Where an id is asked for, some give the token.
  if (typeof id === 'string') return toPublicLink(id) ?? id;
  return typeof token === 'string' ? toPublicLink(token) : null;
}

function firstText(names: readonly string[], fields: Fields): string | null {
  const found = names.map((name) => fields[name]).find((value) => typeof value === 'string');
  return found === undefined ? null : (found as string);
}

/** A token opens something, so it is told by the link's public name; what is none could be one that was misspelt. */
function toPublicLink(reference: string): string | null {
  const given = reference.slice(reference.lastIndexOf('/') + 1).trim();
  return isToken(given) ? publicId(hashToken(given)) : null;
}

/** As many as a line has room for; how many there were is told. */
const mostNamed = 20;
const mostNameLength = 100;

/** The files that a call names besides. */
function listFiles({ files: lists = [] }: AuditFields, input: Fields): Details {
  const named = lists.flatMap((list) => {
    const files: unknown = input[list];
    return Array.isArray(files) ? files.map(nameOf).filter((name) => name !== null) : [];
  });
  if (named.length === 0) return {};
  return { files: named.slice(0, mostNamed).map(shown).join(' '), files_count: named.length };
}

/** Quoted unless plain, so that no name passes for two. What is cut would not be known for a secret any more. */
function shown(name: string): string {
  const start = withoutSecrets(name).slice(0, mostNameLength);
  return /^[\w./…-]+$/.test(start) ? start : JSON.stringify(start);
}

function nameOf(file: unknown): string | null {
  if (typeof file === 'string') return file;
  const { path } = (file ?? {}) as { path?: unknown };
  return typeof path === 'string' ? path : null;
}
