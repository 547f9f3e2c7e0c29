import { Hono } from 'hono';
import { asWorkcrateError, isOurFault, publicMessage } from '../errors.ts';
import type { Log } from '../log.ts';
import { jsonResponse, statusOf } from './answer.ts';

export interface StatusRouteOptions {
  readonly status: () => Promise<object>;
  readonly log: Log;
}

/** `GET /status`: how the server is. That it is for operators alone is seen to before any route. */
export function statusRoute({ status, log }: StatusRouteOptions): Hono {
  const routes = new Hono();
  routes.get('/status', async () => {
    try {
      return jsonResponse(await status());
    } catch (cause) {
      const error = asWorkcrateError(cause);
      if (isOurFault(error)) log.error('http.refused', { route: '/status', code: error.code, error });
      return jsonResponse({ error: publicMessage(error), code: error.code }, statusOf(error));
    }
  });
  return routes;
}
