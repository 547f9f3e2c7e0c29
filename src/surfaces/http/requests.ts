import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestId, runWithRequestId, type Log } from '../../platform/observability/log.ts';
import type { Tracing } from '../../platform/observability/tracing.ts';

interface RequestObservers {
  readonly tracing: Tracing;
  readonly log: Log;
}

/** Answers a request, or refuses it, with its request id and, if tracing is on, in a span. */
export function traceRequest(
  { tracing, log }: RequestObservers,
  req: IncomingMessage,
  res: ServerResponse,
  answer: () => Promise<void>,
  refuse: (error: unknown) => void,
): Promise<void> {
  if (tracing.isOn)
    return runWithRequestId(req, res, () => answerInSpan(tracing, req, res, () => answer().catch(refuse)));
  if (log.tellsDebug !== true && needsNoRequestId(req))
    return answer().catch((error: unknown) => runWithRequestId(req, res, () => refuse(error)));
  return runWithRequestId(req, res, () => answer().catch(refuse));
}

/**
 * A download that succeeds is not logged, and its client has not sent an id: an id took 5 % of the time of a small
 * file, and one more header 10 %.
 */
const needsNoRequestId = ({ url, headers }: IncomingMessage): boolean =>
  headers['x-request-id'] === undefined && url?.startsWith('/files/') === true;

function answerInSpan(
  tracing: Tracing,
  req: IncomingMessage,
  res: ServerResponse,
  answer: () => Promise<void>,
): Promise<void> {
  const [method, route] = [methodName(req.method), routeName(req.url ?? '')];
  const attributes = {
    'http.request.method': method,
    'http.route': route,
    'workcrate.request': getRequestId() ?? '',
  };
  return tracing.request(req.headers, `${method} ${route}`, attributes, async (tell) => {
    await answer();
    tell({ 'http.response.status_code': res.statusCode });
  });
}

/** Routes whose path ends in a token, which is the whole permission. Such a path may not be logged. */
export const tokenRooms = ['files', 'uploads', 'ask'] as const;

const isTokenRoom = (room: string | undefined): boolean =>
  (tokenRooms as readonly (string | undefined)[]).includes(room);

/** Names of routes for logs, spans and counters: the pattern of a path, never the path, which may contain a token. */
const fixedPaths = new Set([
  '/',
  '/mcp',
  '/executions',
  '/livez',
  '/readyz',
  '/metrics',
  '/status',
  '/openapi.json',
]);

export function routeName(url: string): string {
  const path = url.split('?', 1)[0]!;
  if (fixedPaths.has(path)) return path;
  const [, first = '', second, ...more] = path.split('/');
  if (isTokenRoom(first)) return `/${first}/{token}`;
  if (first === 'executions') return '/executions/{id}';
  if (first === '.well-known') return '/.well-known';
  if (second === 'artifacts')
    return more.length === 0 ? '/{user_id}/artifacts' : '/{user_id}/artifacts/{artifact_id}';
  return 'other';
}

const countedMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export const methodName = (method = ''): string => (countedMethods.has(method) ? method : 'other');
