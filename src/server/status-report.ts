/**
 * The routes for operators, `/status` and `/openapi.json`, and the gauges that are read when `/metrics` is asked for.
 * Who may see them is decided by `http/auth.ts`.
 */
import type { Hono } from 'hono';
import { executionId, executionShape, pageShape, searchInput } from '../executions/schema.ts';
import { readTotalUsage } from '../files/files.ts';
import { statusRoute } from '../http/app.ts';
import { openApiDocument, openApiRoute } from '../http/openapi.ts';
import type { Log } from '../observability/log.ts';
import { skillListShape, skillShape } from '../skills/schema.ts';
import { createStatus, statusShape, type StatusOptions } from './status.ts';

export interface OperatorRoutesOptions extends Omit<StatusOptions, 'sessions'> {
  readonly mcp: { sessions(): number };
  readonly baseUrl: () => string;
  readonly log: Log;
}

/** Starts the gauges, and makes the routes /status and /openapi.json. */
export function createOperatorRoutes({ mcp, baseUrl, log, ...options }: OperatorRoutesOptions): Hono[] {
  options.metrics.watchUsage(() => readTotalUsage(options.database));
  options.metrics.watchSessions(mcp.sessions);
  const status = createStatus({ ...options, sessions: mcp.sessions });
  const shapes = {
    execution: executionShape,
    executionPage: pageShape,
    executionSearch: searchInput,
    executionId,
    skillList: skillListShape,
    skill: skillShape,
    status: statusShape,
  };
  return [statusRoute({ status, log }), openApiRoute(openApiDocument(shapes, baseUrl))];
}
