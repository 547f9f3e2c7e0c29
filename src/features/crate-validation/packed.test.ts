import assert from 'node:assert/strict';
import { it } from 'node:test';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { keep, openPacking } from '../packing/packing.testing.ts';
import { crateSpecificationVersions, type PackRequest } from '../packing/pack.ts';
import { judge } from './validating.testing.ts';

it('what is packed breaks no MUST, in any version, whether it ran or failed, alone or with others', async () => {
  await using stage = await openPacking();
  const { room, pack, zipOf } = stage;
  const data = await keep(room, 'my data.csv', '1');
  const code = `open('50% größer.txt', 'w').write(open('my data.csv').read()); print(1)`;
  const good = (await room.run({ language: 'python', code, files: [data.id] })).execution.id;
  const bad = (await room.run({ code: 'echo oh >&2; exit 3', files: [data.id] })).execution.id;
  const requests: Record<string, PackRequest> = {
    'a run': { executionIds: [good], license: 'Ask me.', authors: [{ name: 'Zoë "Z" <b>' }] },
    'a run that failed': { executionIds: [bad] },
    'several runs': { executionIds: [good, bad], fileIds: [data.id] },
    files: { fileIds: [data.id], license: 'https://example.org/a%20licence' },
  };
  for (const specification of crateSpecificationVersions)
    for (const [what, request] of Object.entries(requests)) {
      const zip = zipOf(await pack({ ...request, specification }));
      const { version, profiles, broken, notes } = await judge({ 'x.zip': zip }, null, 'x.zip');
      const musts = broken.filter(({ level }) => level === 'MUST');
      assert.deepEqual(musts, [], `${what} in ${specification}`);
      assert.deepEqual([version, notes], [specification, []]);
      assert.equal(profiles.includes('process-run-crate'), what !== 'files');
    }
  recordProof('B14:what-is-packed-is-valid');
});
