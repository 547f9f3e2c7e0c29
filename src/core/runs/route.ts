/**
 * The HTTP routes `GET /executions` and `GET /executions/{id}`, with the schemas of the tools. It does not
 * authenticate: `surfaces/http/` does, and tells it who the caller is.
 */
import { Hono } from 'hono';
import { z } from 'zod';
import type { NoteRequest } from '../audit/audit.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { answerWithJson } from '../../platform/http/answer.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Executions } from './executions.ts';
import { executionId, searchInput, toExecutionPage } from './schema.ts';

export interface ExecutionRoutesOptions {
  readonly executions: Pick<Executions, 'get' | 'record' | 'search'>;
  /** Who made a request, by what the framework knows of it. */
  readonly callerOf: (env: unknown) => Caller;
  readonly noted: NoteRequest;
  readonly log: Log;
}

/** A query holds nothing but text. */
const searchQuery = searchInput.extend({ limit: z.coerce.number().int().min(1).max(100).optional() });

/** `GET /executions` and `GET /executions/{id}`: what search_executions and get_execution give. */
export function createExecutionRoutes({ executions, callerOf, noted, log }: ExecutionRoutesOptions): Hono {
  const routes = new Hono();
  const answered = (act: () => Promise<unknown>) => answerWithJson(act, '/executions', log);
  routes.get('/executions', ({ req, env }) =>
    answered(() => {
      const caller = callerOf(env);
      return noted({ operation: 'search_executions', user: caller.user, subject: null }, async () =>
        toExecutionPage(await executions.search(caller, parseInput(searchQuery, req.query()))),
      );
    }),
  );
  routes.get('/executions/:id', ({ req, env }) =>
    answered(() => {
      const caller = callerOf(env);
      const id = req.param('id');
      return noted({ operation: 'get_execution', user: caller.user, subject: id }, async () =>
        executions.record.show(await executions.get(caller, parseInput(executionId, id))),
      );
    }),
  );
  return routes;
}

function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const wrong = result.error.issues.map(({ path, message }) => [...path.map(String), message].join(': '));
  throw new WorkcrateError('invalid_input', wrong.join('; '));
}
