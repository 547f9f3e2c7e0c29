import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ada } from '../../core/runs/room.testing.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { graphOf, membersOf, openPacking } from './packing.testing.ts';

it('of a run that its server left behind the crate says that its end and what it made are not known', async () => {
  await using stage = await openPacking();
  const { executions, database } = stage.room;
  const { execution } = await stage.room.run({ code: 'echo 1 > made.txt' });
  // As the row is while a run is under way.
  await database.query(
    `UPDATE executions SET reason = 'running', succeeded = 0, exit_code = NULL, duration_ms = NULL, ended_at = NULL,
     artifacts = '{}', result_files = 'null', started_at = started_at - 1000 WHERE id = ?`,
    execution.id,
  );
  assert.equal(await executions.recover(), 1);
  assert.equal((await executions.get(ada, execution.id)).reason, 'lost');

  const packed = await stage.pack({ executionIds: [execution.id] });
  assert.ok(
    packed.notes.includes('The run may have changed more files: not all could be compared when it ended.'),
    packed.notes.join(),
  );
  const zip = stage.zipOf(packed);
  const graph = await graphOf(zip);
  const action = graph.find(`#${execution.id}`);
  assert.deepEqual(
    [action['endTime'], action['error'], action['result']],
    [undefined, 'lost: its server ended while it ran', undefined],
  );
  assert.match(action['description'] as string, /: lost: its server ended while it ran\.$/);
  assert.equal(graph.find('#results_may_be_incomplete-true')['value'], 'true');
  assert.match(graph.find('./')['description'] as string, /no known results from no inputs; lost: /);
  const preview = (await membersOf(zip)).get('ro-crate-preview.html')!;
  assert.match(preview, /not known/);
  recordProof('B12:not-hashed-is-said');
});
