import { hashToken, isToken, publicId } from '../links/tokens.ts';
import { isQuestion, type Tool } from '../mcp/tool.ts';
import type { Audit } from './audit.ts';
import { noteFailure } from './failure.ts';

/** The same tool, with a line for every call, unless it writes one of its own. */
export function auditedTool(tool: Tool, audit: Audit): Tool {
  if (tool.isNoted === true) return tool;
  return {
    ...tool,
    async handle(input, context) {
      const event = {
        operation: tool.name,
        user: context.caller.user,
        client: context.client.name,
        subject: subjectOf(input),
      };
      try {
        const answer = await tool.handle(input, context);
        const made = isQuestion(answer) ? null : subjectOf(answer.structured as Record<string, unknown>);
        const result = isQuestion(answer) ? 'asked' : 'ok';
        audit.note({ ...event, subject: event.subject ?? made, level: 'trace', result });
        return answer;
      } catch (error) {
        noteFailure(audit, event, error, context.signal);
        throw error;
      }
    },
  };
}

const subjects = [
  'path',
  'file_id',
  'documentFile',
  'outputBasename',
  'filename',
  'name',
  'crate_id',
  'execution_id',
  'link_id',
] as const;

/** What a call is about, by the names that tools give to it. */
function subjectOf(input: Readonly<Record<string, unknown>>): string | null {
  const found = subjects.map((name) => input[name]).find((value) => typeof value === 'string');
  if (found !== undefined) return found as string;
  const token = input['token'];
  return typeof token === 'string' ? linkOf(token) : null;
}

/** A token opens something, so it is told by the link's public name; what is none could be one that was misspelt. */
function linkOf(reference: string): string | null {
  const given = reference.slice(reference.lastIndexOf('/') + 1);
  return isToken(given) ? publicId(hashToken(given)) : null;
}
