import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { serve, temporaryFolder, upload, type Program } from '../test/behaviour/cli/program.testing.ts';

/** Which source files a request passes through, what is done after its answer too: what a reader has to open. */
export interface Walk {
  readonly name: string;
  readonly files: readonly string[];
}

/** Long enough for what is done after an answer, and for every helper to have looked once more. */
const settleMs = 500;

/** What a server does by itself now and then is seen in some of them, and in more of them on a busy machine. */
const minTakes = 3;
const maxTakes = 10;

/**
 * Makes six requests of a real server, each once before it is counted, so that nothing is seen starting. One that
 * passes through more files than its budget is looked at again.
 */
export async function measureWalks(budgetOf: (name: string) => number | undefined): Promise<Walk[]> {
  await using folder = await temporaryFolder();
  const [log, nameFile] = [join(folder.path, 'calls'), join(folder.path, 'name')];
  for (const file of [log, nameFile]) writeFileSync(file, '');
  const hook = pathToFileURL(join(import.meta.dirname, 'walk-hook.ts')).href;
  await using server = await serve(['--data', join(folder.path, 'data')], {
    env: {
      WORKCRATE_SANDBOX: 'auto',
      NODE_OPTIONS: `--import=${hook}`,
      WALK_LOG: log,
      WALK_NAME_FILE: nameFile,
      WALK_SOURCES: pathToFileURL(join(import.meta.dirname, '../src')).href,
    },
  });
  const walks = Object.entries(await prepareWalks(server));
  for (const [, take] of walks) await take();
  for (let at = 0; at < maxTakes; at++)
    for (const [name, take] of walks) {
      if (at >= minTakes && readFiles(log, name, at).length <= (budgetOf(name) ?? Infinity)) continue;
      await pause(settleMs);
      writeFileSync(nameFile, toTakeName(name, at));
      await take();
      await pause(settleMs);
      writeFileSync(nameFile, '');
    }
  await server.end('SIGTERM');
  return walks.map(([name]) => ({ name, files: readFiles(log, name, maxTakes) }));
}

const toTakeName = (name: string, at: number): string => `${name} ${at}`;

/** The files that each of the first takes passed through, as far as they were made. */
function readFiles(log: string, name: string, takes: number): string[] {
  const lines = readFileSync(log, 'utf8').split('\n');
  const all = Array.from({ length: takes }, (_, at) => {
    const start = `${toTakeName(name, at)}\t`;
    return new Set(lines.filter((line) => line.startsWith(start)).map((line) => line.slice(start.length)));
  });
  const made = all.filter(({ size }) => size > 0);
  return [...made.reduce((common, files) => common.intersection(files))].toSorted();
}

type Take = () => Promise<unknown>;

async function prepareWalks(server: Program): Promise<Record<string, Take>> {
  const call = async (tool: string, input: Record<string, unknown>) => {
    const { data, failed, text } = await server.call(tool, input);
    assert.ok(!failed, text);
    return data;
  };
  const code = "open('/artifacts/a.txt', 'w').write('a' * 1000)";
  const execute = () => call('execute_code', { language: 'python', code });
  const { execution_id } = await execute();
  const { crate_id } = await call('pack_crate', { execution_id, title: 'A walk' });
  const { file_id } = await upload(server, 'a.txt', 'a'.repeat(1000));
  const { downloadUrl } = await call('share_file', { file_id });
  return {
    execute_code: execute,
    download: async () => (await fetch(downloadUrl)).arrayBuffer(),
    search_index: () => call('search_index', { query: 'walk', mode: 'keyword' }),
    'page of a run': async () =>
      (await fetch(`${server.url}/runs/${execution_id}`, { headers: { accept: 'text/html' } })).text(),
    read_crate_file: () => call('read_crate_file', { crate_id, path: 'code/main.py' }),
    pdf: () =>
      call('build_exports_content', { documentContent: '# A walk\n\nOne step.\n', formats: ['pdf'] }),
  };
}
