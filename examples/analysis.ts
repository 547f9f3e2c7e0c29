/**
 * Works through an analysis in a session, as an agent does: loads data, checks it out, fails, goes back, plots, exports
 * the notebook, packs the session, and replays it after a restart of the server.
 *
 *   node examples/analysis.ts
 *
 * It starts servers of its own, on a data folder that it removes at the end. Runs need pandas and matplotlib.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { loadConfig } from '../src/server/settings.ts';
import { startWorkcrate } from '../src/server/start.ts';

const days = Array.from({ length: 365 }, (_, day) => `${day},${12 - 10 * Math.cos(day / 58)}`);
const measurements = ['day,temperature', ...days].join('\n');

const load = 'import pandas as pd\nyear = pd.read_csv("temperatures.csv")\nyear.describe()';
/** Takes the wrong rows away, and only then asks for what is not there. */
const mistake = 'year = year[year.temperature > 100]\nyear.temperature.iloc[0]';
const plot = `import matplotlib.pyplot as plt
smooth = year.temperature.rolling(30, center=True).mean()
plt.plot(year.day, year.temperature, ".", year.day, smooth)
plt.title("A year of temperatures")
smooth.to_csv("smooth.csv")
print(f"warmest around day {smooth.idxmax()}")`;

const data = await mkdtemp(join(tmpdir(), 'workcrate-example-'));
try {
  const crateId = await analyse();
  await replayAfterRestart();
  replayCrate(crateId);
} finally {
  await rm(data, { recursive: true, force: true });
}

async function analyse(): Promise<string> {
  await using workcrate = await connect();
  const { call } = workcrate;
  const { uploadUrl } = await call('request_upload', { filename: 'temperatures.csv' });
  const sent = await fetch(uploadUrl, { method: 'PUT', body: measurements });
  const { file_id } = (await sent.json()) as { file_id: string };
  const runCell = (code: string, more: object = {}) =>
    call('execute_code', { session_id: 'weather', language: 'python', code, ...more });

  const loaded = await runCell(load, { files: [file_id] });
  assert.deepEqual([loaded.results[0].rows, loaded.results[0].columns], [8, 2]);
  await call('manage_session', { session_id: 'weather', action: 'checkpoint', name: 'loaded' });
  const failed = await runCell(mistake);
  assert.match(failed.stderr, /IndexError/);
  assert.equal(failed.session.state, 'kept');
  const restored = await call('manage_session', { session_id: 'weather', action: 'restore', name: 'loaded' });
  assert.equal(restored.undone, 1);

  const plotted = await runCell(plot);
  assert.match(plotted.stdout, /^warmest around day 18\d\n$/);
  const [{ link: figure }] = plotted.results.find(({ kind }: { kind: string }) => kind === 'figure').parts;
  const picture = Buffer.from(await (await fetch(figure.downloadUrl)).arrayBuffer());
  assert.equal(picture.toString('latin1', 1, 4), 'PNG');
  console.log(`${figure.filename as string}: a figure of ${picture.length} bytes, by its link`);

  const { notebook } = await call('manage_session', { session_id: 'weather', action: 'export' });
  const { cells } = (await (await fetch(notebook.downloadUrl)).json()) as { cells: { source: string }[] };
  assert.deepEqual(
    cells.map(({ source }) => source),
    [load, plot],
  );
  console.log(`${notebook.filename as string}: a notebook of ${cells.length} cells, without the mistake`);

  const packed = await call('pack_crate', { session_id: 'weather', title: 'A year of temperatures' });
  return packed.crate_id as string;
}

/** The interpreter ended with its server. What the session ran is recorded. */
async function replayAfterRestart(): Promise<void> {
  await using workcrate = await connect();
  const { call } = workcrate;
  const replay = await call('manage_session', { session_id: 'weather', action: 'replay', name: 'again' });
  assert.deepEqual([replay.cells, replay.different], [2, []]);
  const after = await call('execute_code', { session_id: 'again', language: 'python', code: 'len(smooth)' });
  assert.equal(after.results[0].text, '365');
  console.log(`${replay.cells as number} cells ran again after a restart: the same results`);
}

/** The same by the crate alone, as anybody does who was given it. */
function replayCrate(crateId: string): void {
  const program = join(import.meta.dirname, '../bin/workcrate.js');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [program, 'replay', crateId, '--json', '--data', data, '--log-level', 'error'],
    { encoding: 'utf8', timeout: 120_000 },
  );
  assert.equal(status, 0, `${stdout}${stderr}`);
  const { reproduced } = JSON.parse(stdout) as { reproduced: boolean };
  assert.equal(reproduced, true, stdout);
  console.log(`${crateId}: replayed from its crate, with the same results`);
}

/** A server on the data folder, and a client of it. */
async function connect() {
  await using opened = new AsyncDisposableStack();
  const { config } = loadConfig({ data, port: '0', 'log-level': 'error' }, {});
  const server = opened.use(await startWorkcrate(config, { sharesMachine: false }));
  const client = new Client({ name: 'analysis', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp?structured=1`)));
  opened.defer(() => client.close());
  const all = opened.move();
  return {
    // oxlint-disable-next-line typescript/no-explicit-any -- an example names the fields that it shows
    async call(name: string, input: Record<string, unknown>): Promise<any> {
      const result = await client.callTool({ name, arguments: input });
      assert.ok(!result.isError, JSON.stringify(result.content));
      return result.structuredContent;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
