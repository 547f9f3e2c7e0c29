import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { sha256 } from '../../behaviour/backends/upload.testing.ts';
import { run, serve, temporaryFolder, upload, type Program } from '../../behaviour/cli/program.testing.ts';
import {
  buildFaultLibrary,
  type FaultError,
  type FaultKind,
  type FaultLibrary,
} from './fault-library.testing.ts';

/** What was acknowledged, and has to be found again: a text that tells it, and a check that throws if it is not so. */
interface Acknowledged {
  readonly what: string;
  check(program: Program): Promise<void>;
}

/** Does one thing while a call fails in it. Null where it was refused; throws where the refusal is no good one. */
type Action = (program: Program, name: string) => Promise<Acknowledged | null>;

const kinds: readonly FaultKind[] = ['write', 'fsync', 'rename', 'link'];
const errors: readonly FaultError[] = ['ENOSPC', 'EIO'];
/** No action makes more calls of one kind. One that did would be seen: the sweep fails then. */
const mostCalls = 150;
/** How a fault of the disk is told. */
const refusals = new Set(['storage_full', 'storage_failed', 'database_failed']);

const bytesFor = (name: string): Uint8Array<ArrayBuffer> => Buffer.from(`${name}\n`.repeat(20_000));

async function fetchBytes(program: Program, url: string): Promise<{ status: number; sha256: string }> {
  const answer = await fetch(program.url + new URL(url).pathname);
  return { status: answer.status, sha256: sha256(await answer.bytes()) };
}

function demandRefusal(code: string | null | undefined, text: string): null {
  assert.ok(refusals.has(code ?? ''), `${code}: ${text}`);
  return null;
}

const uploadFile: Action = async (program, name) => {
  const asked = await program.call('request_upload', { filename: name });
  if (asked.failed) return demandRefusal(asked.code, asked.text);
  const answer = await fetch(asked.data.uploadUrl, { method: 'PUT', body: bytesFor(name) });
  const told = (await answer.json()) as { code?: string; error?: string; file_id?: string };
  if (answer.status !== 201) return demandRefusal(told.code, told.error ?? '');
  return {
    what: `the upload ${name}`,
    async check(now) {
      const { data, text } = await now.call('share_file', { file_id: told.file_id });
      assert.deepEqual(await fetchBytes(now, data?.downloadUrl ?? assert.fail(text)), {
        status: 200,
        sha256: sha256(bytesFor(name)),
      });
    },
  };
};

const runCode: Action = async (program, name) => {
  const script = `echo ${name} | tee /artifacts/${name}.txt`;
  const input = { language: 'bash', code: script };
  const { failed, text, code, data } = await program.call('execute_code', input);
  if (failed) return demandRefusal(code, text);
  assert.equal(data.stdout, `${name}\n`);
  const { execution_id } = data;
  return {
    what: `the run ${name}`,
    async check(now) {
      // A record that could not be written at once is written a little later.
      await eventually(async () => {
        const found = await now.call('get_execution', { execution_id });
        return found.data?.end_reason === 'exit' && found.data.stdout === `${name}\n`;
      });
    },
  };
};

const packRun =
  (execution_id: string): Action =>
  async (program, name) => {
    const { failed, text, code, data } = await program.call('pack_crate', { execution_id, title: name });
    if (failed) return demandRefusal(code, text);
    return {
      what: `the crate ${name}`,
      async check(now) {
        const found = await fetchBytes(now, data.downloadUrl);
        assert.deepEqual(found, { status: 200, sha256: data.sha256 });
        const { data: crate } = await now.call('get_crate', { crate_id: data.crate_id });
        assert.equal(crate.title, name);
      },
    };
  };

const shareFile =
  (file_id: string, sha: string): Action =>
  async (program, name) => {
    const { failed, text, code, data } = await program.call('share_file', { file_id });
    if (failed) return demandRefusal(code, text);
    return {
      what: `the link ${name}`,
      async check(now) {
        assert.deepEqual(await fetchBytes(now, data.downloadUrl), { status: 200, sha256: sha });
      },
    };
  };

/** What an action came to while the n-th call of a kind was to fail in it. */
async function actUnderFault(
  { program, faults }: Scene,
  action: Action,
  title: string,
  [kind, n, error]: readonly [FaultKind, number, FaultError],
): Promise<{ done: Acknowledged | null; wasHit: boolean }> {
  faults.arm(kind, n, error);
  try {
    const done = await action(program, title);
    return { done, wasHit: faults.disarm() };
  } catch (cause) {
    throw new Error(
      `${title}: neither done nor refused (${faults.disarm() ? 'a call failed' : 'no call failed'})`,
      {
        cause,
      },
    );
  }
}

interface Scene {
  readonly program: Program;
  readonly faults: FaultLibrary;
  /** All that was acknowledged although a call failed. */
  readonly kept: Acknowledged[];
}

/** Lets the n-th call of each kind fail, for every n until none is left to fail. Gives how often one did. */
async function sweepAction(scene: Scene, name: string, action: Action): Promise<number> {
  let hits = 0;
  for (const kind of kinds)
    for (const error of errors)
      for (let n = 1; ; n++) {
        const title = `${name}-${kind}-${error}-${n}`;
        assert.ok(n <= mostCalls, `${title}: there is no end to its calls`);
        const { done, wasHit } = await actUnderFault(scene, action, title, [kind, n, error]);
        if (!wasHit) break;
        hits++;
        if (done !== null) {
          await done.check(scene.program);
          scene.kept.push(done);
        }
        assert.notEqual(await action(scene.program, `${title}-again`), null, `${title}: it did not go on`);
      }
  return hits;
}

/** One line for each run in the journal, whatever failed. */
function demandOneLineEach(data: string): void {
  const logs = join(data, 'logs');
  const lines = readdirSync(logs).flatMap((file) =>
    readFileSync(join(logs, file), 'utf8').trim().split('\n'),
  );
  const ids = lines.map((line) => (JSON.parse(line) as { execution_id: string }).execution_id);
  assert.equal(new Set(ids).size, ids.length, 'a run has two lines');
}

async function demandAllKept(t: TestContext, data: string, kept: readonly Acknowledged[]): Promise<void> {
  await using program = await serve(['--data', data], { env: sandboxed });
  for (const { what, check } of kept)
    await check(program).catch((cause: unknown) => assert.fail(`lost: ${what}: ${String(cause)}`));
  assert.equal(await program.end('SIGTERM'), 0);
  demandOneLineEach(data);
  for (const command of [
    ['check', '--read-data'],
    ['audit', 'verify'],
  ]) {
    const { code, stdout, stderr } = await run([...command, '--data', data]);
    t.diagnostic(stdout.trim());
    assert.equal(code, 0, stdout + stderr);
  }
}

const sandboxed = { WORKCRATE_SANDBOX: 'bubblewrap', WORKCRATE_FILE_TTL: '86400' };

it('whichever write, fsync, rename or link fails, nothing is acknowledged that is not kept, and the server goes on', async (t) => {
  if (noSandbox !== false) return t.skip(noSandbox);
  await using folder = await temporaryFolder();
  const data = join(folder.path, 'data');
  mkdirSync(data);
  const library = buildFaultLibrary(folder.path, data);
  if (typeof library === 'string')
    return t.skip(`the library that lets calls fail cannot be built: ${library}`);
  using faults = library;
  await using program = await serve(['--data', data], { env: { ...sandboxed, ...faults.env } });
  const scene: Scene = { program, faults, kept: [] };

  const shared = await upload(program, 'shared.txt', 'shared');
  const code = 'echo result > /artifacts/result.txt';
  const { data: ended } = await program.call('execute_code', { language: 'bash', code });
  const actions = {
    upload: uploadFile,
    run: runCode,
    pack: packRun(ended.execution_id),
    share: shareFile(shared.file_id, shared.sha256),
  };
  for (const [name, action] of Object.entries(actions)) {
    const hits = await sweepAction(scene, name, action);
    t.diagnostic(`${name}: ${hits} calls failed`);
    assert.ok(hits > 0, `${name}: nothing failed`);
  }
  // The end of a run that could not be written is written later.
  await eventually(async () => {
    const { data: found } = await program.call('search_executions', { status: 'running' });
    return found.executions.length === 0;
  });
  await program.end('SIGKILL');
  await demandAllKept(t, data, scene.kept);
});
