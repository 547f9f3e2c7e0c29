/**
 * Runs code on a file, packs the run as a research crate, restarts the server, finds the crate by its author, looks into
 * it, fetches a part of one file of it, and runs it again to see whether the results are the same.
 *
 *   node examples/crate.ts
 *
 * It starts servers of its own, on a data folder that it removes at the end.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { loadConfig } from '../src/server/settings.ts';
import { startWorkcrate } from '../src/server/start.ts';

const measurements = Array.from({ length: 1000 }, (_, day) => `${day},${Math.sin(day / 58) * 10 + 12}`);
const code = `
rows = [line.split(',') for line in open('temperatures.csv')]
smooth = [sum(float(t) for _, t in rows[i:i + 30]) / 30 for i in range(len(rows) - 30)]
with open('smooth.csv', 'w') as file:
    file.writelines(f'{day},{value:.4f}\\n' for day, value in enumerate(smooth))
line = ' '.join(f'{x},{200 - 8 * y:.1f}' for x, y in enumerate(smooth))
with open('/artifacts/temperatures.svg', 'w') as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 970 220"><polyline points="{line}" fill="none" stroke="#0a6"/></svg>')
print(f'{len(smooth)} means of 30 days')
`;

const data = await mkdtemp(join(tmpdir(), 'workcrate-example-'));
try {
  const crateId = await runAndPack();
  await findAndLookInside(crateId);
  replay(crateId);
} finally {
  await rm(data, { recursive: true, force: true });
}

async function runAndPack(): Promise<string> {
  await using session = await connect();
  const { call } = session;
  const { uploadUrl } = await call('request_upload', { filename: 'temperatures.csv' });
  const sent = await fetch(uploadUrl as string, { method: 'PUT', body: measurements.join('\n') });
  const { file_id } = (await sent.json()) as { file_id: string };
  const ran = await call('execute_code', { language: 'python', code, files: [file_id] });
  assert.equal(ran['stdout'], '970 means of 30 days\n');
  const packed = await call('pack_crate', {
    execution_id: ran['execution_id'],
    title: 'Temperatures of a thousand days, smoothed',
    license: 'CC-BY-4.0',
    keywords: ['temperature', 'moving average'],
    authors: [{ name: 'Josiah Carberry', orcid: '0000-0002-1825-0097', affiliation: 'Brown University' }],
  });
  assert.deepEqual(packed['notes'], []);
  return packed['crate_id'] as string;
}

/** On a server that was started anew: what was packed is kept, and so is the index. */
async function findAndLookInside(crateId: string): Promise<void> {
  await using session = await connect();
  const { call } = session;
  const found = await call('search_index', { query: 'author:carberry', mode: 'keyword' });
  assert.equal((found['results'] as { crate_id: string }[])[0]?.crate_id, crateId);
  const crate = await call('get_crate', { crate_id: crateId });
  assert.deepEqual(
    [crate['authors'], crate['spec_version'], crate['issues']],
    [['Josiah Carberry'], '1.1', []],
  );
  const listing = await call('list_crate_files', { crate_id: crateId, glob: 'results/**' });
  const paths = (listing['files'] as { path: string }[]).map(({ path }) => path);
  assert.deepEqual(paths, ['results/working/smooth.csv', 'results/artifacts/temperatures.svg']);
  const read = await call('read_crate_file', { crate_id: crateId, path: 'code/main.py' });
  assert.equal(read['text'], code);
  const path = 'results/artifacts/temperatures.svg';
  const { downloadUrl } = await call('read_crate_file', { crate_id: crateId, path, delivery: 'link' });
  const part = await fetch(downloadUrl as string, { headers: { range: 'bytes=0-3' } });
  assert.deepEqual([part.status, await part.text()], [206, '<svg']);
  console.log(`${crateId} is found by its author; it holds ${crate['file_count'] as number} files`);
}

function replay(crateId: string): void {
  const program = join(import.meta.dirname, '../bin/workcrate.js');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [program, 'replay', crateId, '--json', '--data', data, '--log-level', 'error'],
    { encoding: 'utf8', timeout: 120_000 },
  );
  assert.equal(status, 0, stderr);
  const { reproduced, steps } = JSON.parse(stdout) as {
    reproduced: boolean;
    steps: { results: { name: string; state: string }[] }[];
  };
  assert.equal(reproduced, true);
  for (const { name, state } of steps.flatMap(({ results }) => results)) console.log(`${name}: ${state}`);
}

/** A server on the data folder, and a client of it. */
async function connect() {
  await using opened = new AsyncDisposableStack();
  const { config } = loadConfig({ data, port: '0', 'log-level': 'error' }, {});
  const server = opened.use(await startWorkcrate(config, { sharesMachine: false }));
  const client = new Client({ name: 'crate', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp?structured=1`)));
  opened.defer(() => client.close());
  const all = opened.move();
  return {
    async call(name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> {
      const result = await client.callTool({ name, arguments: input });
      assert.ok(!result.isError, JSON.stringify(result.content));
      return result.structuredContent as Record<string, unknown>;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
