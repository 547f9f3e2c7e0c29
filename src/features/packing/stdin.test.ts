import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import { readMetadata } from '../crates/metadata/metadata.ts';
import { ada } from '../../core/runs/room.testing.ts';
import { graphOf, keep, membersOf, metadataIn, openPacking, ownNotes } from './packing.testing.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

it('what a run read from stdin is an input of the crate, with its hash, and on the page', async () => {
  await using stage = await openPacking();
  const { execution } = await stage.room.run({ code: 'cat >copy', stdin: '\ufeffünï\n' });
  const packed = await stage.pack({ executionIds: [execution.id] });
  const zip = stage.zipOf(packed);
  const [members, graph] = [await membersOf(zip), await graphOf(zip)];

  assert.deepEqual(ownNotes(packed), []);
  assert.equal(members.get('inputs/stdin.txt'), '\ufeffünï\n');
  assert.equal(members.get('results/working/copy'), '\ufeffünï\n');
  assert.deepEqual(graph.find(`#${execution.id}`)['object'], { '@id': 'inputs/stdin.txt' });
  const entity = graph.find('inputs/stdin.txt');
  assert.deepEqual(
    [entity['@type'], entity['alternateName'], entity['name']],
    ['File', '/dev/stdin', 'stdin'],
  );
  assert.equal(entity['sha256'], sha256('\ufeffünï\n'));
  assert.match(members.get('ro-crate-preview.html')!, /<a href="inputs\/stdin\.txt">\/dev\/stdin<\/a>/);
  assert.deepEqual(readMetadata(Buffer.from(await metadataIn(zip))).issues, []);
});

it('stdin takes the name of no file, of one that is gone neither, and a run without any has none', async () => {
  await using stage = await openPacking();
  const [held, lost] = [await keep(stage.room, 'stdin.txt', 'F'), await keep(stage.room, 'stdin.txt', 'L')];
  const request = { stdin: 'S', files: [held.id] };
  const one = await stage.room.run({ ...request, code: 'true' });
  const members = await membersOf(stage.zipOf(await stage.pack({ executionIds: [one.execution.id] })));
  assert.equal(members.get('inputs/stdin.txt'), 'F');
  assert.equal(members.get('inputs/stdin (2).txt'), 'S');

  const two = await stage.room.run({ stdin: 'S', files: [lost.id], code: 'rm stdin.txt' });
  await stage.room.files.remove(ada, lost.id);
  const graph = await graphOf(stage.zipOf(await stage.pack({ executionIds: [two.execution.id] })));
  assert.equal(graph.find('#gone-inputs%2Fstdin.txt')['alternateName'], 'stdin.txt');
  assert.equal(graph.find('inputs/stdin%20(2).txt')['alternateName'], '/dev/stdin');

  const none = await stage.room.run({});
  const empty = await graphOf(stage.zipOf(await stage.pack({ executionIds: [none.execution.id] })));
  assert.equal(empty.find(`#${none.execution.id}`)['object'], undefined);
});

it('code, stdin and output that are not packed byte for byte are said in the notes', async () => {
  await using stage = await openPacking();
  const notesOf = async (given: Parameters<typeof stage.room.run>[0]) => {
    const { execution } = await stage.room.run(given);
    return ownNotes(await stage.pack({ executionIds: [execution.id] }));
  };
  assert.deepEqual(await notesOf({ code: 'cat >/dev/null', stdin: 'a\0b' }), [
    'stdin contained NUL, which is stored as ␀: it is not packed byte for byte.',
  ]);
  assert.deepEqual(await notesOf({ code: 'cat >/dev/null', stdin: 'a␀b' }), []);
  assert.deepEqual(await notesOf({ code: ': ␀' }), [
    'The code contains ␀, which also stands for NUL: if it was NUL, the code is not packed byte for byte.',
  ]);
  assert.deepEqual(await notesOf({ code: `printf '\\0'` }), [
    'stdout contained bytes that are not text: it is packed as it was shown.',
  ]);
});
