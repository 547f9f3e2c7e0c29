import type { ServerResponse } from 'node:http';
import { jsonResponse } from '../web/answer.ts';
import type { NamePage } from './artifacts.ts';
import { streamOf } from './streamed.ts';

/**
 * All names and their count (A8). More than a page of them are written as they are listed, so that their number costs
 * no memory; what fails on the way breaks the connection.
 */
export async function listResponse(
  first: NamePage,
  list: (after: string) => Promise<NamePage>,
  connection: ServerResponse | null,
): Promise<Response> {
  const { names, next } = first;
  if (next === null) return jsonResponse({ artifacts: names, count: names.length });
  const pieces = piecesOf(first, list);
  const { body, ended } = streamOf(await pieces.next(), pieces, connection, new AbortController());
  // The log has it: each page is listed, and fails, by itself.
  ended.catch(() => {});
  return new Response(body, { headers: jsonResponse(null).headers });
}

async function* piecesOf(
  first: NamePage,
  list: (after: string) => Promise<NamePage>,
): AsyncGenerator<Buffer, void> {
  let count = 0;
  for (let page = first; ; page = await list(page.next!)) {
    const start = count === 0 ? '{"artifacts":[' : page.names.length === 0 ? '' : ',';
    yield Buffer.from(start + JSON.stringify(page.names).slice(1, -1));
    count += page.names.length;
    if (page.next === null) break;
  }
  yield Buffer.from(`],"count":${count}}\n`);
}
