import { hashToken, isToken, publicId } from '../links/tokens.ts';
import { isQuestion, type Question, type Tool, type ToolAnswer } from '../mcp/tool.ts';
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
  const isSynced = tool.annotations.readOnlyHint !== true && !isRunTool(tool.name);
  return {
    ...tool,
    async handle(input, context) {
      const event = {
        operation: tool.name,
        user: context.caller.user,
        client: context.client.name,
        subject: subjectOf(input),
        details: filesOf(input),
      };
      try {
        const answer = await tool.handle(input, context);
        const { made, facts, ...outcome } = outcomeOf(answer);
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

/** A run that was cancelled is an answer too, and not a success. */
function outcomeOf(answer: ToolAnswer<unknown> | Question) {
  if (isQuestion(answer)) return { level: 'trace', result: 'asked', made: null, facts: {} } as const;
  const structured = answer.structured as Readonly<Record<string, unknown>>;
  const about = { made: subjectOf(structured), facts: factsOf(structured) };
  if (structured['end_reason'] === 'cancelled')
    return { level: 'info', result: 'cancelled', ...about } as const;
  return { level: 'trace', result: 'ok', ...about } as const;
}

/** How a run ended, and which link was made: its downloads are told by the same name. */
function factsOf({ end_reason, exit_code, token }: Readonly<Record<string, unknown>>): Details {
  const link = typeof token === 'string' ? linkOf(token) : null;
  return {
    ...(typeof end_reason === 'string' && { end_reason, exit_code: exit_code as number | null }),
    ...(link !== null && { link }),
  };
}

const subjects = [
  'path',
  'file_id',
  'documentFile',
  'outputBasename',
  'filename',
  'name',
  'artifact_path',
  'crate_id',
  'execution_id',
] as const;

/** What a call is about, by the names that tools give to it. */
export function subjectOf(input: Readonly<Record<string, unknown>>): string | null {
  const found = subjects.map((name) => input[name]).find((value) => typeof value === 'string');
  if (found !== undefined) return found as string;
  const { link_id: id, token } = input;
  // Where an id is asked for, some give the token.
  if (typeof id === 'string') return linkOf(id) ?? id;
  return typeof token === 'string' ? linkOf(token) : null;
}

/** A token opens something, so it is told by the link's public name; what is none could be one that was misspelt. */
function linkOf(reference: string): string | null {
  const given = reference.slice(reference.lastIndexOf('/') + 1).trim();
  return isToken(given) ? publicId(hashToken(given)) : null;
}

const lists = ['file_ids', 'files', 'client_files', 'crate_files'] as const;
/** As many as a line has room for; how many there were is told. */
const mostNamed = 20;
const mostNameLength = 100;

/** The files that a call names besides, by the names that tools give to them. */
function filesOf(input: Readonly<Record<string, unknown>>): Details {
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
