import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { ServerConfig as Config } from '../../../src/server/settings.ts';
import { hasReserve } from '../../../src/platform/data-folder/disk-reserve.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { findEngine, noEngine } from '../../../src/ports/sandbox/docker/engine.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { startServer, type TestServer } from '../../server.testing.ts';
import { smallDisk } from './small-disk.testing.ts';

const mega = 1024 ** 2;
const limit = 40 * mega;
const warm = { warmPython: 0, warmNode: 0, warmBash: 1 };

const engine = await findEngine();
after(() => engine?.[Symbol.asyncDispose]());

const backends: { settings: Partial<Config>; lacks: string | false }[] = [
  { settings: { sandbox: 'bubblewrap' }, lacks: noSandbox },
  {
    settings: { sandbox: 'docker', dockerSocket: engine?.socket ?? '', executorImage: engine?.image ?? '' },
    lacks: engine === null && noEngine,
  },
  { settings: { sandbox: 'subprocess', allowSandbox: ['subprocess'] }, lacks: false },
];

const bytesIn = (folder: string): number =>
  Number(execFileSync('du', ['-s', '--block-size=1', folder], { encoding: 'utf8' }).split('\t')[0]);

/** The folders of the only user. */
const getPlaces = ({ data }: TestServer): string => join(data, 'places');
const getArtifacts = (server: TestServer): string => join(getPlaces(server), '1/artifacts');

const bash = (server: TestServer, code: string) =>
  server.call('execute_code', { language: 'bash', code, timeout_ms: 60_000, working_dir: '/artifacts' });

/** Slowly enough to be seen, and until it is stopped. */
const fill = (name: string): string =>
  `for i in {1..400}; do head -c 1M /dev/zero >> ${name}; sleep 0.01; done; sleep 60`;

for (const { settings, lacks } of backends)
  describe(`a run that was stopped for the disk: ${settings.sandbox}`, { skip: lacks }, () => {
    it('leaves the disk as free as it was, and what was there before, and says so', async () => {
      await using server = await startServer({ runDisk: limit, ...warm, ...settings });
      const first = await bash(server, 'echo kept > before; echo old > moved');
      assert.equal(first.data.exit_code, 0, first.text);
      const taken = bytesIn(getPlaces(server));
      const code = `mv moved away; mkdir deep; echo small > deep/note; echo more >> before; ${fill('deep/large')}`;
      const { data, text } = await bash(server, code);
      assert.equal(data.end_reason, 'disk', text);
      const { removed, created } = data.artifacts;
      assert.deepEqual({ ...removed, bytes: 0 }, { files: 1, bytes: 0, complete: true });
      assert.ok(removed.bytes > limit - 2 * mega, `${removed.bytes}`);
      assert.match(text, /Removed, so that the disk is free again: 1 file that it had made \([\d.]+ MB\)\./);
      assert.deepEqual(created, ['away', 'deep/note']);
      assert.ok(bytesIn(getPlaces(server)) - taken < mega);
      const read = (name: string): string => readFileSync(join(getArtifacts(server), name), 'utf8');
      assert.deepEqual(
        [read('before'), read('away'), read('deep/note')],
        ['kept\nmore\n', 'old\n', 'small\n'],
      );
      const record = await server.call('get_execution', { execution_id: data.execution_id });
      assert.deepEqual(record.data.artifacts.removed, removed);
      assert.match(record.text, /Removed, so that the disk is free again/);
    });
  });

describe('others beside a run that was stopped for the disk', { skip: noSandbox }, () => {
  it('what a run made that ended well meanwhile is left', async () => {
    await using server = await startServer({ sandbox: 'bubblewrap', runDisk: limit, ...warm });
    const filling = bash(server, `until [ -e go ]; do sleep 0.05; done; ${fill('large')}`);
    await eventually(async () => (await bash(server, 'echo begun')).text.includes('begun'));
    const other = await bash(server, 'head -c 2M /dev/zero > result');
    assert.equal(other.data.exit_code, 0, other.text);
    writeFileSync(join(getArtifacts(server), 'go'), '');
    const { data } = await filling;
    assert.equal(data.end_reason, 'disk');
    assert.equal(data.artifacts.removed.files, 1);
    assert.equal(bytesIn(join(getArtifacts(server), 'result')), 2 * mega);
  });

  it('all who wrote together are stopped, and none goes on with files that were taken from it', async () => {
    await using server = await startServer({ sandbox: 'bubblewrap', runDisk: limit, ...warm });
    const [one, two] = await Promise.all([
      bash(server, fill('one')),
      bash(server, 'head -c 5M /dev/zero > two; while sleep 0.2; do :; done'),
    ]);
    assert.deepEqual([one.data.end_reason, two.data.end_reason], ['disk', 'disk']);
    assert.ok(bytesIn(getPlaces(server)) < 2 * mega);
  });

  it('what a session made between its cells goes too', async () => {
    await using server = await startServer({ sandbox: 'bubblewrap', runDisk: limit, ...warm });
    const started = await server.call('execute_code', {
      language: 'bash',
      session_id: 'filler',
      code: `(sleep 0.5; ${fill('/artifacts/behind')}) > /dev/null 2>&1 &`,
    });
    assert.equal(started.failed, false, started.text);
    const wasSeen = (): boolean => server.logged.some((line) => line.includes('execution.space_freed'));
    await eventually(async () => wasSeen());
    assert.ok(bytesIn(getPlaces(server)) < 2 * mega);
  });

  it('a disk that one run filled to its reserve is free for the others at once', async (t) => {
    await using disk = await smallDisk(t, '100m');
    if (disk === null) return;
    await using server = await startServer({ sandbox: 'bubblewrap', data: join(disk.path, 'data'), ...warm });
    const { data, text } = await bash(server, fill('large'));
    assert.equal(data.end_reason, 'disk', text);
    assert.equal(data.artifacts.removed?.files, 1, text);
    assert.equal(await hasReserve(disk.path), true);
    assert.match((await bash(server, 'echo fine')).text, /fine/);
  });
});
