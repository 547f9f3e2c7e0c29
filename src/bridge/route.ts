import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { WorkcrateError } from '../errors.ts';
import type { Bridge } from './bridge.ts';
import { pageFor, pageHeaders, pageOf } from './page/page.ts';

/**
 * Answers `/ask/{token}`: the page that takes what a client was asked for. Whoever has the link may send, as with
 * `/uploads/{token}`; an unknown token is a guess, and counted as one.
 */
export function createAskRoute(bridge: Pick<Bridge, 'page'>) {
  return async (req: IncomingMessage, res: ServerResponse, token: string): Promise<void> => {
    if (req.method !== 'GET' && req.method !== 'HEAD')
      throw new WorkcrateError('method_not_allowed', 'This page only answers GET.');
    const awaited = await bridge.page(token);
    if (awaited !== null) return answerPage(res, 200, pageFor(awaited));
    const gone = new WorkcrateError(
      'upload_not_found',
      'This page is unknown, was used or has expired. Tell your assistant to ask again.',
    );
    if (isForPeople(req) && !res.destroyed) {
      answerPage(res, 404, pageOf(gone.message));
      await once(res, 'close');
    }
    // Thrown all the same, so that it is counted and logged as any other guess is.
    throw gone;
  };
}

/** Programs are answered in JSON. */
const isForPeople = ({ headers }: IncomingMessage): boolean => /\btext\/html\b/i.test(headers.accept ?? '');

function answerPage(res: ServerResponse, status: number, page: string): void {
  const body = Buffer.from(page);
  res.writeHead(status, { ...pageHeaders, 'Content-Length': body.length });
  res.end(res.req.method === 'HEAD' ? undefined : body);
}
