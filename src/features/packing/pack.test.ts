import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { isWorkcrateError } from '../../platform/errors.ts';
import { ada, bob, until } from '../../core/runs/room.testing.ts';
import { readMetadata } from '../crates/metadata/metadata.ts';
import {
  graphOf,
  keep,
  membersOf,
  metadataIn,
  openPacking,
  ownNotes,
  openZip,
  pythonMembers,
  quiet,
} from './packing.testing.ts';

const code = `
import os
rows = open('data.csv').read().split()
open('sum.txt', 'w').write(str(sum(map(int, rows))))
open(os.path.join(os.environ['ARTIFACTS'], 'plot.svg'), 'w').write('<svg/>')
print('done')
`;
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

it('a run becomes an archive of stored members that Python and our own reader read', async () => {
  await using stage = await openPacking();
  const input = await keep(stage.room, 'data.csv', '1\n2\n3\n');
  const { execution } = await stage.room.run({ language: 'python', code, files: [input.id] });
  const packed = await stage.pack({ executionIds: [execution.id], title: 'Sums of Ångström' });
  const zip = stage.zipOf(packed);

  assert.equal(packed.object.name, `users/ada/sums-of-angstrom-${execution.id}.zip`);
  assert.deepEqual([packed.owner, packed.object.size, ownNotes(packed)], ['ada', zip.length, []]);
  assert.equal(packed.sha256, createHash('sha256').update(zip).digest('hex'));
  const members = pythonMembers(zip);
  assert.deepEqual(
    members.map(({ name, method }) => [name, method]),
    [
      ['ro-crate-metadata.json', 0],
      ['ro-crate-preview.html', 0],
      ['code/main.py', 0],
      ['inputs/data.csv', 0],
      ['results/working/sum.txt', 0],
      ['results/artifacts/plot.svg', 0],
      ['logs/stdout.txt', 0],
    ],
  );
  assert.equal(packed.fileCount, members.length);
  const texts = new Map(members.map(({ name, text }) => [name, text]));
  assert.equal(texts.get('results/working/sum.txt'), '6');
  assert.equal(texts.get('code/main.py'), code);

  const archive = await openZip(zip);
  const range = (await archive.rangeOf('results/artifacts/plot.svg'))!;
  assert.equal(zip.subarray(range.start, range.end).toString(), '<svg/>');
});

it('the run, its times, its agent and every file with its hash are told', async () => {
  await using stage = await openPacking();
  const input = await keep(stage.room, 'data.csv', '1\n2\n3\n');
  const { execution } = await stage.room.run({ language: 'python', code, files: [input.id] });
  const graph = await graphOf(stage.zipOf(await stage.pack({ executionIds: [execution.id] })));
  const action = graph.find(`#${execution.id}`);

  const { startTime, endTime, actionStatus } = action as unknown as Record<string, string>;
  assert.equal(Date.parse(startTime!), execution.startedAt);
  assert.equal(Date.parse(endTime!), execution.startedAt + execution.durationMs!);
  assert.equal(actionStatus, 'http://schema.org/CompletedActionStatus');
  assert.match(action['description'] as string, /exit code 0/);
  assert.deepEqual(action['instrument'], { '@id': 'code/main.py' });
  assert.deepEqual(action['agent'], { '@id': '#user-ada' });
  assert.deepEqual(action['object'], { '@id': 'inputs/data.csv' });
  assert.deepEqual(action['result'], [
    { '@id': 'results/working/sum.txt' },
    { '@id': 'results/artifacts/plot.svg' },
    { '@id': 'logs/stdout.txt' },
  ]);
  const plot = graph.find('results/artifacts/plot.svg');
  assert.equal(plot['sha256'], sha256('<svg/>'));
  assert.deepEqual([plot['contentSize'], plot['encodingFormat']], ['6', 'image/svg+xml']);
  assert.equal(plot['alternateName'], '/artifacts/plot.svg');
  assert.equal(graph.find('code/main.py')['sha256'], sha256(code));
  assert.deepEqual(graph.find('logs/stdout.txt')['about'], { '@id': `#${execution.id}` });
  assert.equal(graph.find('#network-none')['value'], 'none');
  recordProof('B12:run-packed-with-provenance');
});

it('what is packed is read without an issue, and found under its author', async () => {
  await using stage = await openPacking();
  const { execution } = await stage.room.run({ code: 'echo hello >out.txt' });
  const request = {
    executionIds: [execution.id],
    title: 'Hello',
    description: 'A greeting',
    license: 'CC-BY-4.0',
    keywords: ['greeting', 'test'],
    authors: [
      { name: 'Josiah Carberry', orcid: '0000-0002-1825-0097', affiliation: 'Brown University' },
      { name: 'Ada' },
    ],
  };
  const zip = stage.zipOf(await stage.pack(request));
  const metadata = readMetadata(Buffer.from(await metadataIn(zip)));

  assert.deepEqual(metadata.issues, []);
  assert.deepEqual(metadata.authors, ['Josiah Carberry', 'Ada']);
  assert.deepEqual([metadata.title, metadata.description], ['Hello', 'A greeting']);
  assert.deepEqual(metadata.keywords, ['greeting', 'test']);
  assert.equal(metadata.license?.id, 'https://spdx.org/licenses/CC-BY-4.0');
  assert.equal(metadata.published, '2026-11-15T12:00:00.000+00:00');
  assert.equal(metadata.spec, '1.1');
  assert.deepEqual(metadata.profiles, ['https://w3id.org/ro/wfrun/process/0.5']);
});

it('files alone become a crate without a run', async () => {
  await using stage = await openPacking();
  const [one, two] = [await keep(stage.room, 'a.txt', 'A'), await keep(stage.room, 'a.txt', 'B')];
  const packed = await stage.pack({ fileIds: [one.id, two.id, one.id], shared: true });
  const graph = await graphOf(stage.zipOf(packed));

  assert.match(packed.object.name, /^shared\/2-files-from-workcrate-files_[0-9a-f]{12}\.zip$/);
  assert.equal(packed.owner, null);
  assert.deepEqual(graph.ofType('CreateAction'), []);
  assert.equal(graph.find('./')['conformsTo'], undefined);
  assert.deepEqual(graph.find('./')['hasPart'], [{ '@id': 'files/a.txt' }, { '@id': 'files/a%20(2).txt' }]);
  assert.deepEqual(readMetadata(Buffer.from(await metadataIn(stage.zipOf(packed)))).issues, []);
});

it('a failed run is packed with its failure, one that still runs is refused', async () => {
  await using stage = await openPacking();
  const { execution } = await stage.room.run({ language: 'python', code: 'raise ValueError("no data")' });
  const graph = await graphOf(stage.zipOf(await stage.pack({ executionIds: [execution.id] })));
  const action = graph.find(`#${execution.id}`);
  assert.deepEqual(action['actionStatus'], 'http://schema.org/FailedActionStatus');
  assert.match(action['error'] as string, /^exit code 1 after [\d.]+ m?s\n[^]*ValueError: no data$/);

  const slow = stage.room.run({ code: 'sleep 30' }).catch(() => null);
  const find = () => stage.room.executions.search(ada, { limit: 1, outcome: null } as never);
  let id = '';
  await until(async () => {
    id = (await find()).executions.find(({ reason }) => reason === 'running')?.id ?? '';
    return id !== '';
  });
  await assert.rejects(stage.pack({ executionIds: [id] }), (error) =>
    isWorkcrateError(error, 'invalid_input'),
  );
  await stage.room.executions[Symbol.asyncDispose]();
  await slow;
});

it("nobody packs another user's run or files, and nothing is not packed", async () => {
  await using stage = await openPacking();
  const file = await keep(stage.room, 'a.txt', 'A');
  const { execution } = await stage.room.run({});
  const notFound = (error: unknown): boolean => isWorkcrateError(error, 'not_found');
  await assert.rejects(stage.pack({ executionIds: [execution.id] }, bob), notFound);
  await assert.rejects(stage.pack({ fileIds: [file.id] }, bob), notFound);
  await assert.rejects(stage.pack({}), (error) => isWorkcrateError(error, 'invalid_input'));
  assert.equal(stage.target.held.size, 0);
});

it('an input that is gone is told with its hash and not held; one that stands where it was put is', async () => {
  await using stage = await openPacking();
  const [kept, lost] = [await keep(stage.room, 'kept.txt', 'K'), await keep(stage.room, 'lost.txt', 'L')];
  const { execution } = await stage.room.run({
    code: 'rm lost.txt',
    files: [kept.id, lost.id],
    workingDir: 'shared',
  });
  for (const { id } of [kept, lost]) await stage.room.files.remove(ada, id);
  const packed = await stage.pack({ executionIds: [execution.id] });
  const graph = await graphOf(stage.zipOf(packed));

  assert.deepEqual(ownNotes(packed), [
    'Described, but not in the crate: "lost.txt" of the run: nobody kept it as the run read it; the file is gone.',
  ]);
  assert.equal(graph.find('#gone-inputs%2Flost.txt')['sha256'], sha256('L'));
  assert.equal(graph.find('inputs/kept.txt')['sha256'], sha256('K'));
  assert.deepEqual(graph.find('./')['hasPart'], [{ '@id': 'code/main.sh' }, { '@id': 'inputs/kept.txt' }]);
});

it('an input that came out of another crate says which, and where in it', async () => {
  await using stage = await openPacking();
  const origin = { crate_id: 'crate_0123456789abcdef01234567', path: 'data/a b.csv' };
  const other = {
    name: 'a b.csv',
    origin,
    size: 3,
    async *open() {
      yield Buffer.from('1,2');
    },
  };
  const { execution } = await stage.room.run({ code: 'cat *.csv', others: [other] });
  const graph = await graphOf(stage.zipOf(await stage.pack({ executionIds: [execution.id] })));

  const [based] = [graph.find('inputs/a%20b.csv')['isBasedOn'] as { '@id': string }];
  assert.equal(graph.find('inputs/a%20b.csv')['sha256'], sha256('1,2'));
  assert.equal(graph.find(based['@id'])['identifier'], `${origin.crate_id}/${origin.path}`);
  assert.deepEqual(graph.find(based['@id'])['isPartOf'], { '@id': `#${origin.crate_id}` });
  assert.equal(graph.find(`#${origin.crate_id}`)['identifier'], origin.crate_id);
});

it('output that was too long to be shown is packed whole, and the interpreter with its version', async () => {
  await using stage = await openPacking();
  const { execution } = await stage.room.run({ language: 'node', code: `console.log('x'.repeat(300_000))` });
  assert.equal(execution.truncated, true);
  const zip = stage.zipOf(await stage.pack({ executionIds: [execution.id] }));

  assert.equal((await membersOf(zip)).get('logs/stdout.txt')?.length, 300_001);
  const runtime = (await graphOf(zip)).ofType('SoftwareApplication')[0]!;
  assert.match(`${execution.limits.runtime}`, /^\w+ [\d.]+$/);
  assert.equal(`${runtime['name'] as string} ${runtime['version'] as string}`, execution.limits.runtime);
});

const notKept = 'not kept: the results of the run were larger than what is kept of a run (--keep-results)';

it('where nothing was kept, only a file with the recorded hash is packed; of all others it is said why not', async () => {
  await using stage = await openPacking({}, { keepBytes: 0 });
  const script =
    'echo 1 >gone; echo 2 >.hidden; echo 3 >twice; ln twice again; echo 4 >later; mkdir d; echo 5 >d/x';
  const { execution } = await stage.room.run({ code: script });
  const { workspace } = await stage.room.places.of('ada');
  const folder = join(workspace, execution.id);
  await stage.room.run({ code: `rm gone; mv d e; ln -s e d`, workingDir: execution.workingDir });
  // Of the same size, and as old as the one before: only its bytes tell.
  const { atime, mtime } = statSync(join(folder, 'later'));
  writeFileSync(join(folder, 'later'), '5\n');
  utimesSync(join(folder, 'later'), atime, mtime);
  const packed = await stage.pack({ executionIds: [execution.id] });
  const zip = stage.zipOf(packed);

  const names = [...(await membersOf(zip)).keys()];
  assert.deepEqual(
    names.slice(3).sort(),
    ['again', 'twice'].map((name) => `results/working/${name}`),
  );
  assert.deepEqual([...ownNotes(packed)].sort(), [
    'Described, but not in the crate: ".hidden" of the run: not kept: hidden files are not kept; the file is a link, hidden or not a file.',
    `Described, but not in the crate: "d/x" of the run: ${notKept}; the file is a link, hidden or not a file.`,
    `Described, but not in the crate: "gone" of the run: ${notKept}; the file is gone.`,
    `Described, but not in the crate: "later" of the run: ${notKept}; the file was changed since.`,
  ]);
  const graph = await graphOf(zip);
  const later = graph.find('#gone-results%2Fworking%2Flater');
  assert.deepEqual([later['sha256'], later['contentSize']], [sha256('4\n'), '2']);
  const page = (await membersOf(zip)).get('ro-crate-preview.html')!;
  assert.ok(page.includes(`<td>${notKept}; the file was changed since</td>`));
});

it('hostile names are encoded in ids, kept apart, and lead nowhere in the archive', async () => {
  await using stage = await openPacking();
  const names = [
    'a b%#?.txt',
    'A B%#?.txt',
    'é.txt',
    'e\u0301.txt',
    'x\\..\\up',
    'C:x',
    'new\nline',
    '<b>&".txt',
    '.. ',
  ];
  const { execution } = await stage.room.run({
    language: 'python',
    code: `for n in ${JSON.stringify(names)}: open(n, 'w').write(n)`,
  });
  const zip = stage.zipOf(await stage.pack({ executionIds: [execution.id] }));
  const members = new Map(pythonMembers(zip).map(({ name, text }) => [name, text]));
  const results = (await graphOf(zip)).ofType('File').filter(({ '@id': id }) => id.startsWith('results/'));

  assert.equal(results.length, names.length - 1, 'a name that begins with a dot is hidden');
  for (const result of results) {
    const path = decodeURIComponent(result['@id']);
    assert.doesNotMatch(result['@id'], /[\s"<>\\^`{|}#?]|%(?![0-9A-F]{2})/);
    assert.doesNotMatch(path, /\\|\/\.{1,2}(?:\/|$)|\/[A-Z]:/i);
    assert.equal(members.get(path), result['alternateName']);
  }
  const { directory } = await openZip(zip);
  for (const member of directory) assert.notEqual(member.path, null);
});

it('a run can be packed again, and a crate over the limit is refused before it is written', async () => {
  await using stage = await openPacking();
  const { execution } = await stage.room.run({});
  const request = { executionIds: [execution.id], title: 'x' };
  await stage.pack(request);
  assert.equal((await stage.pack(request)).object.name, `users/ada/x-${execution.id}-2.zip`);

  await using small = await openPacking({ maxBytes: 100 });
  const file = await keep(small.room, 'a.txt', 'A');
  await assert.rejects(small.pack({ fileIds: [file.id] }), (error) => isWorkcrateError(error, 'too_large'));
  assert.equal(small.target.held.size, 0);
});

it('a file that changes between the two readings fails the packing, and nothing stays', async () => {
  await using stage = await openPacking({}, { keepBytes: 0 });
  const { execution } = await stage.room.run({ code: 'echo 1 >a; echo 2 >b' });
  const { workspace } = await stage.room.places.of('ada');
  const progress = (): void => writeFileSync(join(workspace, execution.id, 'b'), '3\n');
  await assert.rejects(
    stage.packing.pack(ada, { executionIds: [execution.id] }, { ...quiet(), progress }),
    (error) => isWorkcrateError(error, 'crate_changed') && error.message.includes('b'),
  );
  assert.equal(stage.target.held.size, 0);
});

it('packing stops when it is cancelled', async () => {
  await using stage = await openPacking();
  const { execution } = await stage.room.run({});
  const stop = new AbortController();
  const watching = { signal: stop.signal, progress: () => stop.abort() };
  await assert.rejects(stage.packing.pack(ada, { executionIds: [execution.id] }, watching), {
    name: 'AbortError',
  });
  assert.equal(stage.target.held.size, 0);
});
