import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { run, serve, temporaryFolder, type Program } from '../../behaviour/cli/program.testing.ts';
import { emptyLedger, listAll, type Ledger, type Listed } from './ledger.testing.ts';
import { anyOf, load } from './load.testing.ts';
import { seededRandom } from './random.testing.ts';

/** Every run has seeds of its own, so that many short runs see more than one long one. */
const rounds = Number(process.env['WORKCRATE_TEST_KILLS'] ?? 10);
const settings = ['--file-ttl', '86400', '--upload-ttl', '86400', '--log-level', 'warn'];

it(`${rounds} kills under load lose no acknowledged file and leave no orphan after the restart`, async (t) => {
  const seed = Number(process.env['WORKCRATE_TEST_SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`WORKCRATE_TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  await using folder = await temporaryFolder();
  const start = () => serve(['--data', folder.path, ...settings]);
  const ledger = emptyLedger();

  for (let round = 1; round <= rounds; round++) {
    await using program = await start();
    await inspect(program, folder.path, ledger, random);
    await Promise.all([load(program, ledger, random), killSoon(program, ledger, round, random)]);
    assert.equal(program.output.stderr, '', 'nothing to warn of');
    if (round % 5 === 0) await checkAfterRestart(start, folder.path);
  }

  await using program = await start();
  await inspect(program, folder.path, ledger, random);
  for (const [path, file] of ledger.links) await fetchLink(program, ledger, path, file);
  t.diagnostic(`${ledger.sent.size} files sent, ${ledger.kept.size} kept, ${ledger.deleted.size} deleted`);
  assert.ok(ledger.sent.size > rounds * 3, 'there was load');
});

/** In most rounds not before some files were sent, however slow the machine is; in every fourth at once. */
async function killSoon(
  program: Program,
  { sent }: Ledger,
  round: number,
  random: () => number,
): Promise<void> {
  const enough = sent.size + (round % 4 === 0 ? 0 : 6);
  for (let step = 0; sent.size < enough && step < 2000; step++) await pause(10);
  await pause(20 + random() * 400);
  assert.equal(await program.end('SIGKILL'), null);
}

/** What a client finds after the restart must be what it was told before the kill. */
async function inspect(program: Program, data: string, ledger: Ledger, random: () => number): Promise<void> {
  const listed = await listAll(program);
  assert.deepEqual(
    await storedIds(data),
    [...listed.keys()].toSorted(),
    'objects without a file, or files without one',
  );
  settle(ledger, listed);
  assert.deepEqual([...listed.keys()].toSorted(), [...ledger.kept.keys()].toSorted());
  for (const [id, { filename, sha256 }] of listed) {
    assert.equal(sha256, ledger.sent.get(filename), filename);
    assert.equal(sha256, ledger.kept.get(id), filename);
  }
  for (let count = 0; count < 10; count++) {
    const link = anyOf([...ledger.links], random);
    if (link !== null) await fetchLink(program, ledger, ...link);
  }
  await sendAgain(program, ledger, new Set([...listed.values()].map((file) => file.filename)));
}

/** Where an answer did not arrive, either outcome is right; from now on it is the one that is found. */
function settle(ledger: Ledger, listed: ReadonlyMap<string, Listed>): void {
  const unanswered = new Set(ledger.unanswered.values());
  for (const [id, { filename, sha256 }] of listed)
    if (ledger.deleting.has(id) || unanswered.has(filename)) ledger.kept.set(id, sha256);
  for (const id of ledger.deleting) if (!listed.has(id)) ledger.deleted.add(id);
  ledger.deleting.clear();
}

/** An upload whose answer was lost tells what became of it: the file, or that it can still be sent. */
async function sendAgain(program: Program, ledger: Ledger, names: ReadonlySet<string>): Promise<void> {
  for (const [path, filename] of ledger.unanswered) {
    const told = (await (await fetch(program.url + path)).json()) as { state: string };
    assert.equal(told.state, names.has(filename) ? 'complete' : 'open', filename);
    if (told.state === 'open') {
      const answer = await fetch(program.url + path, { method: 'PUT', body: filename });
      const { file_id, sha256 } = (await answer.json()) as { file_id: string; sha256: string };
      assert.equal(answer.status, 201);
      ledger.sent.set(filename, sha256);
      ledger.kept.set(file_id, sha256);
    }
  }
  ledger.unanswered.clear();
}

async function fetchLink(program: Program, ledger: Ledger, path: string, file: string): Promise<void> {
  const answer = await fetch(program.url + path);
  const sha256 = createHash('sha256')
    .update(await answer.bytes())
    .digest('hex');
  if (ledger.kept.has(file)) assert.deepEqual([answer.status, sha256], [200, ledger.kept.get(file)], file);
  else assert.equal(answer.status, 410, file);
}

async function storedIds(data: string): Promise<string[]> {
  const names = await readdir(join(data, 'files/objects'), { recursive: true });
  const objects = names.filter((name) => name.startsWith('files') && name.endsWith('.bin'));
  return objects.map((name) => `file_${name.slice(name.lastIndexOf('/') + 1, -'.bin'.length)}`).toSorted();
}

/** Every byte, every counter and what is staged, as the program itself sees it. */
async function checkAfterRestart(start: () => Promise<Program>, data: string): Promise<void> {
  await using program = await start();
  assert.equal(await program.end('SIGTERM'), 0);
  const { code, stdout } = await run(['check', '--read-data', '--data', data]);
  assert.match(stdout, /^checked \d+ files, \d+ bytes: all is well\n$/);
  assert.equal(code, 0);
}
