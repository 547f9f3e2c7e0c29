import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashDefinition, toSortedJson } from '../../core/offer/toolbox.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { makeCall, recordingCalls, refusedCall } from '../code-mode/calls.testing.ts';
import { graphOf, membersOf, openPacking, ownNotes } from '../packing/packing.testing.ts';
import { crateSpecificationVersions } from '../packing/pack.ts';
import { judge } from './validating.testing.ts';

const lost = { ...makeCall(4), arguments: { query: 'x'.repeat(100_000) } };
const large = { ...lost, argumentsHash: hashDefinition(lost.arguments) };
const odd = makeCall(3, {
  tool: 'a/../"b"\n',
  server: 'other server',
  definitionHash: null,
  outcome: 'error',
  error: 'No.',
});

for (const specification of crateSpecificationVersions)
  test(`each tool call is an action of the crate, in which they break no rule (RO-Crate ${specification})`, async () => {
    const calls = [makeCall(1), refusedCall(2), odd, large];
    await using stage = await openPacking({}, { extensions: [recordingCalls(calls)] });
    const { execution } = await stage.room.run({ language: 'python', code: 'print(1)' });
    const packed = await stage.pack({ executionIds: [execution.id], specification });
    const members = await membersOf(stage.zipOf(packed));
    const graph = await graphOf(stage.zipOf(packed));
    const actions = graph.ofType('ActivateAction');
    assert.deepEqual(
      actions.map((action) => [
        action['name'],
        (action['actionStatus'] as object) !== undefined,
        action['error'],
      ]),
      [
        [`Call 1 of ${execution.id}: search_index`, true, undefined],
        [`Call 2 of ${execution.id}: search_index`, true, 'Nobody allowed it.'],
        [`Call 3 of ${execution.id}: ${odd.tool}`, true, 'No.'],
        [`Call 4 of ${execution.id}: search_index`, true, undefined],
      ],
    );
    assert.equal(members.get('calls/0001-search_index-arguments.json'), '{"query":"number 1"}');
    assert.equal(members.get('calls/0001-search_index-result.json'), toSortedJson(calls[0]!.result));
    const given = graph.find('calls/0001-search_index-arguments.json');
    assert.equal(given['sha256'], calls[0]!.argumentsHash);
    const tool = graph.find((actions[0]!['instrument'] as { '@id': string })['@id']);
    assert.deepEqual([tool['@type'], tool['name']], ['SoftwareApplication', 'search_index']);
    assert.deepEqual(ownNotes(packed), [
      'Of 1 tool calls of the run the crate has only hashes: their arguments or results were too large to be kept.',
    ]);
    const { broken } = await judge(Object.fromEntries(members));
    await using plain = await openPacking();
    const { execution: other } = await plain.room.run({ language: 'python', code: 'print(1)' });
    const without = await plain.pack({ executionIds: [other.id], specification });
    const judged = await judge(Object.fromEntries(await membersOf(plain.zipOf(without))));
    assert.deepEqual(broken, judged.broken);
    assert.deepEqual(
      broken.filter(({ level }) => level === 'MUST'),
      [],
    );
    recordProof('F6:calls-are-in-the-crate');
  });
