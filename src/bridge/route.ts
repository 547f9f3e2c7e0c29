import type { IncomingMessage, ServerResponse } from 'node:http';
import { WorkcrateError } from '../errors.ts';
import type { Bridge } from './bridge.ts';
import { pageFor, pageHeaders } from './page/page.ts';

/**
 * Answers `/ask/{token}`: the page that takes what a client was asked for. Whoever has the link may send, as with
 * `/uploads/{token}`; an unknown token is a guess, and counted as one.
 */
export function createAskRoute(bridge: Pick<Bridge, 'page'>) {
  return async (req: IncomingMessage, res: ServerResponse, token: string): Promise<void> => {
    if (req.method !== 'GET' && req.method !== 'HEAD')
      throw new WorkcrateError('method_not_allowed', 'This page is only looked at.');
    const awaited = await bridge.page(token);
    if (awaited === null)
      throw new WorkcrateError(
        'upload_not_found',
        'This page is not known, was used or has expired. Have your assistant ask again.',
      );
    const body = Buffer.from(pageFor(awaited));
    res.writeHead(200, { ...pageHeaders, 'Content-Length': body.length });
    res.end(req.method === 'HEAD' ? undefined : body);
  };
}
