import { z } from 'zod';
import { WorkcrateError } from '../errors.ts';
import { defineTool, type Tool } from '../mcp/tool.ts';
import { auditLevels } from './audit.ts';
import { moment, timeOf } from './moments.ts';
import { positionForm, searchAudit, type FoundLine } from './search.ts';
import { pageText } from './text.ts';
import { program } from '../program.ts';

export interface AuditToolsOptions {
  readonly folder: string;
  readonly key: string | null;
}

const name = z.string().min(1).max(200);

const found = z.object({
  seq: z.number(),
  time: z.string(),
  level: z.enum(auditLevels),
  operation: z.string(),
  user: z.string(),
  client: z.string().nullable(),
  subject: z.string().nullable(),
  result: z.string(),
  details: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  intact: z.boolean().describe('False for a line that was changed after it was written'),
});

/** Tools for those who look after the server. */
export function auditTools({ folder, key }: AuditToolsOptions): Tool[] {
  return [
    defineTool({
      name: 'search_audit',
      group: 'operator',
      title: 'Search the audit log',
      description: `For operators: who did what on this server, for all users, newest first. Violations are at level warning, with kind, where and repeats in their details; \`folded\` counts similar ones within a minute. ${program} audit verify on the server checks that no line was changed or removed.`,
      input: z.strictObject({
        text: z.string().min(1).max(1000).optional().describe('Text in a line, upper or lower case'),
        user: name.optional(),
        operation: name.optional().describe('Such as read_client_file'),
        result: name.optional().describe('ok, failed (anything else), or an error code'),
        level: z.enum(auditLevels).optional().describe('The least severe'),
        since: moment.optional().describe('From then on: a day such as 2026-05-04, or 2026-05-04T12:00Z'),
        until: moment.optional().describe('Before then: 2026-05-05 ends with the last moment of 2026-05-04'),
        limit: z.number().int().min(1).max(200).default(50),
        before: z.string().regex(positionForm).optional().describe('The `next` of the previous page'),
      }),
      output: z.object({ lines: z.array(found), next: z.string().nullable() }),
      annotations: { readOnlyHint: true, openWorldHint: false },
      auditFields: { subject: [] },
      async handle({ since, until, ...query }, { mayUse, signal }) {
        // Those without authentication may use every group; keys and tokens have to name this one.
        if (!mayUse('operator'))
          throw new WorkcrateError(
            'forbidden',
            'The audit log is for operators, and this key has no operator scope.',
          );
        const times = { since: timeOf(since), until: timeOf(until) };
        const page = await searchAudit(folder, { ...query, ...times }, { key, signal });
        return {
          text: pageText(page, (next) => `before ${next}.`),
          structured: { lines: page.lines.map(shown), next: page.next },
        };
      },
    }),
  ];
}

function shown({ prev: _prev, hash: _hash, details = {}, ...line }: FoundLine): z.input<typeof found> {
  return { ...line, details: { ...details } };
}
