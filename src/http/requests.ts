import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../observability/log.ts';
import { getRequestId, runWithRequestId } from '../observability/request-id.ts';
import type { Tracing } from '../observability/tracing.ts';
import { methodName, routeName } from './routes.ts';

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
