/**
 * Draws a plot in the sandbox, writes a paper around it that cites a .bib, builds it as PDF, DOCX and a web page, and
 * fetches each by its link.
 *
 *   node examples/paper.ts [FOLDER]
 *
 * It starts a server of its own, on a data folder that it removes at the end. The documents are left in FOLDER, or else
 * in a new one.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { loadConfig } from '../src/server/settings.ts';
import { startWorkcrate } from '../src/server/start.ts';

/** A pendulum that is let go at several angles, as a PNG without any library. */
const code = `
import math, struct, zlib
W, H = 640, 320
rows = [bytearray(b'\\xff' * W * 3) for _ in range(H)]
for colour, start in (((0, 110, 120), 0.3), ((190, 80, 40), 1.2), ((90, 60, 150), 2.4)):
    angle, speed = start, 0.0
    for x in range(W):
        last = int(H / 2 - angle * 60)
        for _ in range(10):
            speed -= 0.004 * math.sin(angle)
            angle += 0.004 * speed
        y = int(H / 2 - angle * 60)
        for row in range(min(y, last) - 1, max(y, last) + 2):
            rows[row][x * 3:x * 3 + 3] = bytes(colour)
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
raw = b''.join(b'\\0' + bytes(row) for row in rows)
with open('/artifacts/pendulum.png', 'wb') as file:
    file.write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', W, H, 8, 2, 0, 0, 0)))
    file.write(chunk(b'IDAT', zlib.compress(raw)) + chunk(b'IEND', b''))
`;

const documentContent = `---
title: The pendulum, once more
author: [Christiaan Huygens, Emilie du Chatelet]
abstract: Three pendulums are let go at different angles. The larger the angle, the longer the period.
---

# Motion

A pendulum of length $l$ obeys

$$ \\ddot\\varphi = -\\frac{g}{l} \\sin\\varphi , $$

and only for small angles is its period $T = 2\\pi\\sqrt{l/g}$ [@huygens1673, p. 12; see also @nelson1986].

![Angle over time, for three starting angles](pendulum.png){width=80%}

| start | period in units of $2\\pi\\sqrt{l/g}$ |
|------:|--------------------------------------:|
|   0.3 |                                 1.006 |
|   1.2 |                                 1.096 |
|   2.4 |                                 1.622 |

: Periods by starting angle.

# References
`;

const bibliographyContent = `@book{huygens1673,
  author = {Huygens, Christiaan}, title = {Horologium Oscillatorium}, year = {1673},
  publisher = {F. Muguet}, address = {Paris}
}
@article{nelson1986,
  author = {Nelson, Robert A. and Olsson, M. G.}, title = {The pendulum: Rich physics from a simple system},
  journal = {American Journal of Physics}, year = {1986}, volume = {54}, number = {2}, pages = {112--121}
}`;

interface Artifact {
  readonly format: string;
  readonly filename: string;
  readonly downloadUrl: string;
  readonly size: number;
  readonly sha256: string;
}

const data = await mkdtemp(join(tmpdir(), 'workcrate-example-'));
const target = process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'workcrate-paper-')));
await mkdir(target, { recursive: true });
try {
  await using opened = new AsyncDisposableStack();
  const { config } = loadConfig({ data, port: '0', 'log-level': 'error' }, {});
  const server = opened.use(await startWorkcrate(config, { sharesMachine: false }));
  const client = new Client({ name: 'paper', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp?structured=1`)));
  opened.defer(() => client.close());

  await call(client, 'execute_code', { language: 'python', code });
  const checked = await call(client, 'validate_citations', { documentContent, bibliographyContent });
  assert.equal(checked['valid'], true);
  const result = await call(client, 'build_exports_content', {
    documentContent,
    bibliographyContent,
    style: 'apa',
    formats: ['pdf', 'docx', 'html'],
    outputBasename: 'pendulum',
    numberSections: true,
  });
  assert.deepEqual([result['failures'], result['warnings']], [[], []]);
  for (const artifact of result['artifacts'] as Artifact[]) await fetchTo(target, artifact);
} finally {
  await rm(data, { recursive: true, force: true });
}

async function fetchTo(
  folder: string,
  { format, filename, downloadUrl, size, sha256 }: Artifact,
): Promise<void> {
  const bytes = Buffer.from(await (await fetch(downloadUrl)).arrayBuffer());
  assert.equal(bytes.length, size);
  assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256);
  await writeFile(join(folder, filename), bytes);
  console.log(`${format}: ${join(folder, filename)}, ${size} bytes`);
}

async function call(
  client: Client,
  name: string,
  input: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const result = await client.callTool({ name, arguments: input });
  assert.ok(!result.isError, JSON.stringify(result.content));
  return result.structuredContent as Record<string, unknown>;
}
