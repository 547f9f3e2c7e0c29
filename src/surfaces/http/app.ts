/**
 * All routes but the token routes: MCP, liveness (`/livez`), readiness (`/readyz`), metrics, status, OAuth metadata and
 * the routes of rooms. It authenticates nobody (`auth.ts` does, before any route), and whether the server is ready is
 * decided in `server/`.
 */
import type { IncomingMessage } from 'node:http';
import { Hono } from 'hono';
import { asWorkcrateError, isOurFault, publicMessage } from '../../platform/errors.ts';
import { renderMessage } from '../../platform/html/html.ts';
import { createPolicy, isOpenedInBrowser, toPageResponse } from '../../platform/html/response.ts';
import type { McpEndpoint } from '../mcp/http.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import { isReserved, metricsScope, operatorScope } from '../../core/users/users.ts';
import { jsonResponse, getErrorStatus } from '../../platform/http/answer.ts';
import type { Auth } from './auth.ts';
import { tokenRooms } from './requests.ts';

export interface AppOptions {
  readonly mcp: McpEndpoint;
  readonly metrics: Metrics;
  readonly auth: Pick<Auth, 'getCaller' | 'requireScope'>;
  /** Metadata on how to get a token (RFC 9728), or null where none are accepted. */
  readonly resourceMetadata: () => Promise<object | null>;
  /** The readiness check: rejects while the server cannot do its work. */
  readonly ready: () => Promise<void>;
  /** Whether anybody may read why the server is not ready; otherwise they get the code, and the log gets the reason. */
  readonly showsReason: boolean;
  readonly log: Log;
  /** Routes of rooms, in the order in which they are tried. */
  readonly rooms: readonly Hono[];
}

/** The scopes of which a caller's key or token needs one for a route. Tools check theirs themselves. */
const routeScopes = [
  ['/metrics', [metricsScope, operatorScope]],
  ['/status', [metricsScope, operatorScope]],
  ['/executions/*', ['code']],
  ['/skills/*', ['skills']],
  ['/:user_id/artifacts/*', ['artifacts']],
] as const;

const metadataPaths = ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp'];

/** Every route but /files and /uploads, which are answered before any framework (server.ts). */
export function createApp(options: AppOptions): Hono {
  const { mcp, metrics, auth, resourceMetadata, ready, showsReason, log, rooms } = options;
  const app = new Hono();
  for (const [path, scopes] of routeScopes) app.use(path, auth.requireScope(scopes));
  app.all('/mcp', (context) => mcp.fetch(context.req.raw, auth.getCaller(context.env)));
  app.on('GET', metadataPaths, async (context) => {
    const metadata = await resourceMetadata();
    return metadata === null ? context.notFound() : jsonResponse(metadata);
  });
  app.get('/livez', (context) => context.text('ok\n'));
  app.get('/readyz', async (context) => {
    try {
      await ready();
      return context.text('ok\n');
    } catch (error) {
      const reason = asWorkcrateError(error);
      log.info('http.not_ready', { error: reason });
      const why = showsReason || reason.code === 'stopping' ? `: ${publicMessage(reason)}` : '';
      return context.json({ error: `not ready${why}`, code: reason.code }, 503);
    }
  });
  app.get('/metrics', async (context) =>
    context.body(await metrics.registry.metrics(), 200, { 'Content-Type': metrics.registry.contentType }),
  );
  // People get the page of a room.
  app.get('/', (context, next) =>
    isPerson(context.env)
      ? next()
      : context.text('Workcrate. MCP is at /mcp; /livez, /readyz and /metrics show its state.\n'),
  );
  for (const room of rooms) app.route('/', room);
  checkReservedWords([...app.routes.map(({ path }) => path), ...tokenRooms.map((room) => `/${room}`)]);
  app.notFound(async (context) =>
    isPerson(context.env)
      ? toPageResponse(await renderMessage('There is nothing here', nothingHere), 404, createPolicy())
      : context.json({ error: 'There is nothing here. MCP is at /mcp.', code: 'not_found' }, 404),
  );
  return app;
}

/** So that no route is added whose first word could be a user's name: it would hide `/{user}/artifacts`. */
export function checkReservedWords(paths: readonly string[]): void {
  const open = paths.map((path) => path.split('/')[1] ?? '').filter((word) => !isReserved(word));
  if (open.length > 0)
    throw new Error(
      `Reserve these first words of routes in users/names.ts: ${[...new Set(open)].join(', ')}.`,
    );
}

const nothingHere = 'Perhaps the address was not copied whole.';

/** By the request of `node:http`, which the framework passes on. */
function isPerson(env: unknown): boolean {
  const { incoming } = (env ?? {}) as { incoming?: IncomingMessage };
  return incoming !== undefined && isOpenedInBrowser(incoming);
}

export interface StatusRouteOptions {
  readonly status: () => Promise<object>;
  readonly log: Log;
}

/** `GET /status`: the state of the server. `auth.ts` restricts it to operators before any route. */
export function statusRoute({ status, log }: StatusRouteOptions): Hono {
  const routes = new Hono();
  routes.get('/status', async () => {
    try {
      return jsonResponse(await status());
    } catch (cause) {
      const error = asWorkcrateError(cause);
      if (isOurFault(error)) log.error('http.refused', { route: '/status', code: error.code, error });
      return jsonResponse({ error: publicMessage(error), code: error.code }, getErrorStatus(error));
    }
  });
  return routes;
}
