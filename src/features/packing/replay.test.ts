import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { describe, it } from 'node:test';
import { isWorkcrateError, type ErrorCode } from '../../platform/errors.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { chunksOf } from '../../ports/storage/bytes.testing.ts';
import { keep, openPacking } from './packing.testing.ts';
import { writeReplayInput } from './replay-workspace.ts';
import { createReplayWorkspace, toReplayJson, formatReplayReport, type ReplayReport } from './replay.ts';
import { replay, replayFiles } from './replaying.testing.ts';

/** The report of the only step. */
function onlyStep({ steps }: ReplayReport) {
  assert.equal(steps.length, 1);
  return steps[0]!;
}

/** Runs code on an input and gives the packed crate. */
async function packedRun(
  code: string,
  language: 'python' | 'bash' | 'node' = 'python',
  stdin = '',
): Promise<Buffer> {
  await using stage = await openPacking();
  const input = await keep(stage.room, 'data.csv', '1\n2\n3\n');
  const { execution } = await stage.room.run({ language, code, stdin, files: [input.id] });
  return stage.zipOf(await stage.pack({ executionIds: [execution.id] }));
}

const steady = `
import os
total = sum(map(int, open('data.csv').read().split()))
open('sum.txt', 'w').write(str(total))
open(os.path.join(os.environ['ARTIFACTS'], 'plot.svg'), 'w').write('<svg/>')
print(total)
`;

it('a run that does the same again is reproduced, result by result', async () => {
  const report = await replay(await packedRun(steady));
  assert.equal(report.reproduced, true);
  assert.deepEqual(
    onlyStep(report).results.map(({ name, state }) => [name, state]),
    [
      ['sum.txt', 'same'],
      ['/artifacts/plot.svg', 'same'],
    ],
  );
  assert.deepEqual(
    [onlyStep(report).stdout, onlyStep(report).outcome, onlyStep(report).complete],
    ['same', 'exit code 0', true],
  );
  assert.match(formatReplayReport(report), /same {5}sum\.txt[^]*Reproduced/);
  const [step] = toReplayJson(report)['steps'] as Record<string, unknown>[];
  assert.equal(step!['duration_ms'], onlyStep(report).durationMs);
});

it('of a result that differs it is told whether only dates and ids do', async () => {
  const svg = (inner: string): string => `
import os, uuid, datetime
id = uuid.uuid4().hex
open('plot.svg', 'w').write(f'<svg><dc:date>{datetime.datetime.now()}</dc:date><g id="{id}"/><use href="#{id}"/>${inner}</svg>')
`;
  const dated = await replay(await packedRun(svg('')));
  assert.deepEqual(
    onlyStep(dated).results.map(({ name, state, difference }) => [name, state, difference]),
    [['plot.svg', 'differs', 'dates_and_ids']],
  );
  assert.equal(dated.reproduced, false);
  assert.match(
    formatReplayReport(dated),
    /DIFFERS {2}plot\.svg \(only dates and ids differ\)[^]*Not reproduced, but only dates and ids in files differ\./,
  );
  const other = await replay(await packedRun(svg('{uuid.uuid4()}')));
  assert.match(
    formatReplayReport(other),
    /DIFFERS {2}plot\.svg \(its content differs\)[^]*Not reproduced\.$/m,
  );
  const binary = await replay(
    await packedRun("import os\nopen('x.bin', 'wb').write(b'\\0' + os.urandom(9))"),
  );
  assert.match(
    formatReplayReport(binary),
    /x\.bin \(whether more than dates and ids differs, cannot be told\)/,
  );
  recordProof('B13:replay-tells-dates-from-content');
});

it('what a run was given on stdin is given again, and not as a file', async () => {
  const stdin = '\ufeff1 ☃\n\n';
  const zip = await packedRun('cat >copy; ls >names; echo read', 'bash', stdin);
  const report = await replay(zip);
  assert.equal(report.reproduced, true, formatReplayReport(report));
  assert.deepEqual(
    onlyStep(report).results.map(({ name, state }) => [name, state]),
    [
      ['copy', 'same'],
      ['names', 'same'],
    ],
  );
  assert.equal(onlyStep(report).stdout, 'same');

  const bytes = (path: string, chunk: Buffer): Buffer =>
    path === 'inputs/stdin.txt' ? Buffer.from('other') : chunk;
  await assert.rejects(replay(zip, { bytes }), (error) => isWorkcrateError(error, 'hash_mismatch'));
});

it('stdin that is no text, or is there twice, is not run', async () => {
  const zip = await packedRun('cat', 'bash', 'x');
  const binary = (path: string, chunk: Buffer): Buffer =>
    path === 'inputs/stdin.txt' ? Buffer.from([0xff, 0xfe]) : chunk;
  const unhashed = (text: string): string =>
    text.replace(/("@id": "inputs\/stdin\.txt",[^}]*?)"sha256": "[0-9a-f]{64}"/, '$1"sha256": ""');
  await assert.rejects(
    replay(zip, { bytes: binary, metadata: unhashed }),
    (error: Error) => isWorkcrateError(error, 'unsupported') && /stdin, is not UTF-8/.test(error.message),
  );
  const twice = (text: string): string =>
    text.replace('"alternateName": "data.csv"', '"alternateName": "/dev/stdin"');
  await assert.rejects(replay(zip, { metadata: twice }), (error) => isWorkcrateError(error, 'unsupported'));
});

it('results that differ, are missing or are more are told apart', async () => {
  // The folders of a replay are elsewhere on this machine.
  const zip = await packedRun(`
import os
open('same.txt', 'w').write('same')
open('differs.txt', 'w').write(os.environ['WORKSPACE'])
open('extra.txt' if 'replay' in os.environ['WORKSPACE'] else 'missing.txt', 'w').write('x')
`);
  const report = await replay(zip);
  assert.equal(report.reproduced, false);
  assert.deepEqual(Object.fromEntries(onlyStep(report).results.map(({ name, state }) => [name, state])), {
    'same.txt': 'same',
    'differs.txt': 'differs',
    'missing.txt': 'missing',
    'extra.txt': 'extra',
  });
  assert.match(formatReplayReport(report), /DIFFERS[^]*Not reproduced\.\n$/);
});

it('a run that failed is reproduced by failing, in every language', async () => {
  for (const language of ['bash', 'node', 'python'] as const) {
    const report = await replay(await packedRun(language === 'bash' ? 'exit 3' : 'throw_it()', language));
    const step = onlyStep(report);
    assert.deepEqual([step.language, step.recorded, step.ended], [language, 'failed', 'failed']);
    assert.equal(report.reproduced, true);
    assert.match(formatReplayReport(report), /no results to compare\.\n$/);
  }
});

it('an input or code that is not what the crate says is not run', async () => {
  const zip = await packedRun(steady);
  for (const path of ['inputs/data.csv', 'code/main.py']) {
    const bytes = (read: string, chunk: Buffer): Buffer =>
      read === path ? Buffer.from(`${chunk.toString()}#`) : chunk;
    await assert.rejects(replay(zip, { bytes }), (error) => isWorkcrateError(error, 'hash_mismatch'));
  }
});

describe('crates that cannot be replayed say why', async () => {
  const zip = await packedRun(steady);
  const cases: [what: string, code: ErrorCode, reason: RegExp, change: (text: string) => string][] = [
    ['no run', 'unsupported', /describes no run/, (text) => text.replace('"CreateAction"', '"Thing"')],
    [
      'a second run without an instrument',
      'unsupported',
      /one instrument/,
      (text) => text.replace('"@graph": [', '"@graph": [{"@id":"#b","@type":"CreateAction"},'),
    ],
    [
      'an instrument elsewhere',
      'unsupported',
      /instrument/,
      (text) => text.replaceAll('"code/main.py"', '"https://example.org/"'),
    ],
    [
      'another language',
      'unsupported',
      /python, node, bash/,
      (text) => text.replaceAll('"name": "Python"', '"name": "Perl"'),
    ],
    [
      'an input that is not there',
      'not_found',
      /data\.tsv/,
      (text) => text.replaceAll('inputs/data.csv', 'inputs/data.tsv'),
    ],
    [
      'an input without bytes',
      'unsupported',
      /does not contain its input/,
      (text) => text.replaceAll('"inputs/data.csv"', '"#input"'),
    ],
    [
      'an input that climbs',
      'path_refused',
      /refused/i,
      (text) => text.replace('"alternateName": "data.csv"', '"alternateName": "../../x"'),
    ],
  ];
  for (const [what, code, reason, metadata] of cases)
    it(what, async () => {
      await assert.rejects(replay(zip, { metadata }), (error: Error) => {
        assert.match(error.message, reason);
        return isWorkcrateError(error, code);
      });
    });
});

it('a Process Run Crate of somebody else is replayed, and what it does not tell is unknown', async () => {
  const graph = [
    { '@id': 'ro-crate-metadata.json', '@type': 'CreativeWork', about: { '@id': './' } },
    { '@id': './', '@type': 'Dataset', name: 'x', mentions: { '@id': '#run' } },
    {
      '@id': '#run',
      '@type': 'CreateAction',
      instrument: { '@id': 'tools/upper%20case.sh' },
      object: { '@id': 'in/words.txt' },
      result: { '@id': 'out/words.upper' },
    },
    { '@id': 'tools/upper%20case.sh', '@type': ['File', 'SoftwareApplication'] },
    { '@id': 'in/words.txt', '@type': 'File' },
    { '@id': 'out/words.upper', '@type': 'File' },
  ];
  const members = new Map([
    ['tools/upper case.sh', Buffer.from('tr a-z A-Z <words.txt >words.upper')],
    ['in/words.txt', Buffer.from('hello')],
  ]);
  const context = 'https://w3id.org/ro/crate/1.1/context';
  const report = await replayFiles(JSON.stringify({ '@context': context, '@graph': graph }), members);
  assert.deepEqual(
    onlyStep(report).results.map(({ name, state }) => [name, state]),
    [['words.upper', 'unknown']],
  );
  const { ended, stdout } = onlyStep(report);
  assert.deepEqual([report.reproduced, ended, stdout], [false, 'completed', 'unknown']);
});

it('nothing that a crate names can steer a terminal', async () => {
  const zip = await packedRun('exit 1', 'bash');
  const name = (text: string): string =>
    text.replace(/"name": "Bash run[^"]*"/, '"name": "\\u001b[2J\\u202e"');
  const told = formatReplayReport(await replay(zip, { metadata: name }));
  // oxlint-disable-next-line no-control-regex -- that is what is looked for
  assert.doesNotMatch(told, /[\u001b\u202e]/);
});

it('inputs of which one would have to be a folder and a file are refused', async () => {
  await using test = await createReplayWorkspace(tmpdir(), null);
  await writeReplayInput(test.place, '/workspace/x/z', chunksOf(Buffer.from('1')));
  for (const name of ['x/z/y', 'x'])
    await assert.rejects(writeReplayInput(test.place, `/workspace/${name}`, chunksOf(Buffer.from('2'))), {
      code: 'unsupported',
    });
});
