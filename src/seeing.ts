import type { Hono } from 'hono';
import { executionId, searchInput } from './executions/inputs.ts';
import { executionShape, pageShape } from './executions/shown.ts';
import { readTotalUsage } from './files/files.ts';
import { createStatus, statusShape, type StatusOptions } from './status.ts';
import type { Log } from './log.ts';
import { openApiDocument, openApiRoute } from './web/openapi.ts';
import { statusRoute } from './web/status-route.ts';

export interface SeeingOptions extends Omit<StatusOptions, 'sessions'> {
  readonly mcp: { sessions(): number };
  readonly baseUrl: () => string;
  readonly log: Log;
}

/** The part of the composition root that is about seeing: what is watched, /status and /openapi.json. */
export function startSeeing({ mcp, baseUrl, log, ...options }: SeeingOptions): Hono[] {
  options.metrics.watchUsage(() => readTotalUsage(options.database));
  options.metrics.watchSessions(mcp.sessions);
  const status = createStatus({ ...options, sessions: mcp.sessions });
  const shapes = {
    execution: executionShape,
    executionPage: pageShape,
    executionSearch: searchInput,
    executionId,
    status: statusShape,
  };
  return [statusRoute({ status, log }), openApiRoute(openApiDocument(shapes, baseUrl))];
}
