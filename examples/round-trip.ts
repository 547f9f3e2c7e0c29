/**
 * Sends a file of 1 GiB in and fetches it back through an MCP client, and shows what that costs the model.
 *
 *   node examples/round-trip.ts [URL of a running workcrate] [--size BYTES]
 *
 * Without a URL it starts a server of its own, on a data folder that it removes at the end.
 */
import assert from 'node:assert/strict';
import { createCipheriv, createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startOwn } from './own-server.ts';

const { values, positionals } = parseArgs({
  options: { size: { type: 'string', default: String(1024 ** 3) } },
  allowPositionals: true,
});
const size = Number(values.size);

await using server = positionals[0] === undefined ? await startOwn() : null;
const client = new Client({ name: 'round-trip', version: '1' });
await client.connect(
  new StreamableHTTPClientTransport(new URL(`${server?.url ?? positionals[0]}/mcp?structured=1`)),
);

let toolText = 0;
async function call(name: string, input: Record<string, unknown>): Promise<Record<string, string>> {
  const result = await client.callTool({ name, arguments: input });
  assert.ok(!result.isError, JSON.stringify(result.content));
  for (const block of result.content) if (block.type === 'text') toolText += Buffer.byteLength(block.text);
  return result.structuredContent as Record<string, string>;
}

const { uploadUrl } = await call('request_upload', { filename: 'measurements.bin', size });
const sent = createHash('sha256');
const started = performance.now();
const put = await fetch(uploadUrl!, {
  method: 'PUT',
  body: Readable.toWeb(Readable.from(madeUp(size, sent))),
  duplex: 'half',
} as RequestInit);
const { file_id, sha256 } = (await put.json()) as { file_id: string; sha256: string };
const stored = performance.now();

const { downloadUrl } = await call('share_file', { file_id });
const fetched = createHash('sha256');
let length = 0;
for await (const chunk of (await fetch(downloadUrl!)).body!) {
  fetched.update(chunk);
  length += chunk.length;
}
const ended = performance.now();
await client.close();

assert.equal(length, size);
const hashes = new Set([sent.digest('hex'), sha256, fetched.digest('hex')]);
assert.equal(hashes.size, 1, 'what came back is not what was sent');
assert.ok(toolText < 1024, `the tools said ${toolText} bytes`);
console.log(
  `${size} bytes in ${seconds(stored - started)}, out ${seconds(ended - stored)}, equal sha256 ${sha256}`,
);
console.log(
  `the model read ${toolText} bytes of text; as base64 it would have been ${Math.ceil(size / 3) * 4}`,
);

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/** Bytes that compress badly and are made fast: a cipher over zeros. */
function* madeUp(total: number, hash: ReturnType<typeof createHash>): Generator<Buffer> {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16, 1), Buffer.alloc(16));
  const zeros = Buffer.alloc(1024 * 1024);
  for (let made = 0; made < total; made += zeros.length) {
    const chunk = cipher.update(zeros.subarray(0, Math.min(zeros.length, total - made)));
    hash.update(chunk);
    yield chunk;
  }
}
