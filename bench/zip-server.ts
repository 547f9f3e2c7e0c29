/**
 * A remote store for bench/zip.ts: one file by ranges, each answered after a delay. `/told` says what has been asked
 * for since it was asked last.
 *
 *   node bench/zip-server.ts FILE DELAY
 */
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';

const [file, delay] = [process.argv[2]!, Number(process.argv[3])];
const { size } = statSync(file);
const none = { requests: 0, bytes: 0 };
let told = { ...none };

const server = createServer(async (request, response) => {
  if (request.url === '/told') {
    response.end(JSON.stringify({ ...told, size }));
    told = { ...none };
    return;
  }
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')!.map(Number);
  const length = last! - first! + 1;
  told = { requests: told.requests + 1, bytes: told.bytes + length };
  await setTimeout(delay);
  response.writeHead(206, {
    'content-length': length,
    'content-range': `bytes ${first}-${last}/${size}`,
  });
  createReadStream(file, { start: first!, end: last!, highWaterMark: 256 * 1024 }).pipe(response);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`);
});
process.on('disconnect', () => process.exit());
