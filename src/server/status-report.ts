/**
 * The routes for operators, `/status` and `/openapi.json`, and the gauges that are read when `/metrics` is asked for.
 * Who may see them is decided by `surfaces/http/auth.ts`.
 */
import type { Hono } from 'hono';
import type { Database } from '../ports/database/database.ts';
import { executionId, pageShape, searchInput } from '../core/runs/schema.ts';
import { runRecord } from './run-record.ts';
import { readTotalUsage } from '../core/files/files.ts';
import { statusRoute } from '../surfaces/http/app.ts';
import { openApiDocument, openApiRoute } from '../surfaces/http/openapi.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import { skillListShape, skillShape } from '../features/skills/schema.ts';
import { statusShape, type ServerStatus } from './status.ts';

export interface OperatorRoutesOptions {
  readonly status: () => Promise<ServerStatus>;
  readonly database: Database;
  readonly metrics: Pick<Metrics, 'watchUsage' | 'watchSessions'>;
  readonly mcp: { sessions(): number };
  readonly baseUrl: () => string;
  readonly log: Log;
}

/** Starts the gauges, and makes the routes /status and /openapi.json. */
export function createOperatorRoutes({
  status,
  database,
  metrics,
  mcp,
  baseUrl,
  log,
}: OperatorRoutesOptions): Hono[] {
  metrics.watchUsage(() => readTotalUsage(database));
  metrics.watchSessions(mcp.sessions);
  const shapes = {
    execution: runRecord.shape,
    executionPage: pageShape,
    executionSearch: searchInput,
    executionId,
    skillList: skillListShape,
    skill: skillShape,
    status: statusShape,
  };
  return [statusRoute({ status, log }), openApiRoute(openApiDocument(shapes, baseUrl))];
}
