import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../../behaviour/backends/upload.testing.ts';
import { run } from '../../behaviour/cli/program.testing.ts';
import { listAll } from '../durability/ledger.testing.ts';
import type { SoakScene } from './actions.testing.ts';
import type { SoakLedger } from './ledger.testing.ts';

/** How many of a kind are looked at after each restart; at the end all are. */
const sampleSize = 25;

function takeSample<T>(items: Iterable<T>, random: () => number, most: number): T[] {
  return [...items]
    .map((item) => ({ item, order: random() }))
    .toSorted((one, other) => one.order - other.order)
    .slice(0, most)
    .map(({ item }) => item);
}

/** Compares what a running server has with what its clients were told. Adds what differs to the ledger's problems. */
export async function checkPromises(scene: SoakScene, most = sampleSize): Promise<void> {
  const { program, ledger, random } = scene;
  const { problems } = ledger;
  const listed = await listAll(program);
  for (const [id, digest] of ledger.files)
    if (listed.get(id)?.sha256 !== digest) problems.push(`${id} was acknowledged and is not listed`);
  for (const id of ledger.deleted) if (listed.has(id)) problems.push(`${id} was deleted and is listed`);

  for (const [path, { file, sha256: digest }] of takeSample(ledger.links, random, most)) {
    const answer = await fetch(program.url + path);
    const isRight = answer.status === 200 && sha256(await answer.bytes()) === digest;
    if (ledger.files.has(file) && !isRight) problems.push(`a link to ${file} was answered ${answer.status}`);
    if (ledger.deleted.has(file) && answer.status !== 410)
      problems.push(`a link to the deleted ${file} was answered ${answer.status}`);
  }
  for (const [kind, paths] of [
    ['revoked', ledger.revoked],
    ['used up', ledger.used],
  ] as const)
    for (const path of takeSample(paths, random, most)) {
      const { status } = await fetch(program.url + path);
      if (status !== 404) problems.push(`a link that was ${kind} was answered ${status}`);
    }
  await checkRuns(scene, most);
}

async function checkRuns({ program, ledger, random }: SoakScene, most: number): Promise<void> {
  for (const [execution_id, stdout] of takeSample(ledger.runs, random, most)) {
    const { data, text } = await program.call('get_execution', { execution_id });
    if (data?.stdout !== stdout || data.end_reason !== 'exit')
      ledger.problems.push(`${execution_id}: ${data === undefined ? text : data.end_reason}`);
  }
  for (const [crate_id] of takeSample(ledger.crates, random, most)) {
    const { failed, text } = await program.call('get_crate', { crate_id });
    if (failed) ledger.problems.push(`${crate_id}: ${text}`);
  }
}

/** What can be seen of a server that has ended: the journal, the audit log, and every stored byte. */
export async function checkFolder(data: string, ledger: SoakLedger): Promise<string[]> {
  const journal = readLines(join(data, 'logs')).map(
    (line) => (JSON.parse(line) as { execution_id: string }).execution_id,
  );
  const lines = Map.groupBy(journal, (id) => id);
  for (const [id, all] of lines)
    if (all.length > 1) ledger.problems.push(`${id} has ${all.length} lines in the journal`);
  for (const id of ledger.runs.keys())
    if (!lines.has(id)) ledger.problems.push(`${id} has no line in the journal`);
  const audited = readLines(join(data, 'audit')).join('\n');
  for (const id of [...ledger.runs.keys(), ...ledger.deleted])
    if (!audited.includes(id)) ledger.problems.push(`${id} has no line in the audit log`);
  const told: string[] = [];
  for (const command of [
    ['check', '--read-data'],
    ['audit', 'verify'],
  ]) {
    const { code, stdout, stderr } = await run([...command, '--data', data]);
    told.push(stdout.trim());
    if (code !== 0) ledger.problems.push(`${command.join(' ')}: ${stdout}${stderr}`);
  }
  return told;
}

function readLines(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line !== '');
}
