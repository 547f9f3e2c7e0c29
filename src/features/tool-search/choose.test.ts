import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { chooseListedTools } from './choose.ts';
import { loadRoutes } from './route-file.ts';

const routes = loadRoutes(null);
const core = ['execute_code', 'get_artifact', 'search_tools', 'call_tool'];
const others = Array.from({ length: 60 }, (_, at) => ({
  name: `codexec_step_${at}`,
  server: 'codexec',
  description: `Step ${at} of a run of code`,
}));
const tools = [
  ...others,
  ...core.map((name) => ({ name, server: 'workcrate', description: 'Of the core' })),
  { name: 'garden_water_plants', server: 'garden', description: 'Waters the plants of a bed' },
];

const choose = (request: string): string[] =>
  chooseListedTools(tools, request, { routes }).map(({ name }) => name);

it('a request that nothing fits sees the core, and only that', () => {
  for (const request of ['', '???', 'xyzzy', 'the of and']) {
    const names = choose(request);
    for (const name of core) assert.ok(names.includes(name), `${request}: ${name}`);
    assert.equal(names.length, core.length);
  }
  recordProof('F1:a-miss-never-hides-the-core');
});

it('at most 25 are offered: the core, the best of the search, then a routed group, in the order of the list', () => {
  const names = choose('plot the data, and water the plants');
  assert.equal(names.length, 25);
  for (const name of [...core, 'garden_water_plants']) assert.ok(names.includes(name), name);
  assert.ok(names.filter((name) => name.startsWith('codexec_')).length >= 15);
  const listed = tools.map(({ name }) => name);
  assert.deepEqual(
    names,
    listed.filter((name) => names.includes(name)),
  );
  recordProof('F1:at-most-25-tools');
});

it('whatever is asked for, the choice is bounded, has the core and is the same each time', () => {
  fc.assert(
    fc.property(fc.lorem({ mode: 'sentences', maxCount: 3 }), (request) => {
      const names = choose(request);
      assert.ok(names.length <= 25 && core.every((name) => names.includes(name)));
      assert.deepEqual(choose(request), names);
    }),
    { numRuns: 50 },
  );
});
