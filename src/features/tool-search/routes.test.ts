import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { isPhrase } from './phrases.ts';
import { loadRoutes, readRouteFile, shippedRoutesFile, tryExamples } from './route-file.ts';
import { createToolRoutes, listRouted } from './routes.ts';

const shipped = readRouteFile(shippedRoutesFile);
const routes = createToolRoutes(shipped);

describe('the routes that come with Workcrate', () => {
  it('lead where their examples say, and not where their counterexamples do', () => {
    tryExamples(shippedRoutesFile, shipped, routes);
    for (const { examples, counterexamples } of shipped.routes)
      assert.ok(examples.length >= 2 && counterexamples.length >= 3);
  });

  for (const request of [
    'zip code',
    'barcode',
    'description',
    'computer',
    'Find my ZIP Codes!',
    'prescriptions',
  ])
    it(`${request} does not lead to code`, () => {
      const groups = routes.findGroups(request);
      assert.ok(!groups.includes('code') && !groups.includes('codexec'), groups.join());
    });

  for (const request of [
    'plot the data',
    'install pandas',
    'PLOTS, please',
    'code that validates a zip code',
  ])
    it(`${request} leads to code`, () => {
      const groups = routes.findGroups(request);
      assert.ok(groups.includes('code') && groups.includes('codexec'), groups.join());
      recordProof('F1:routes-by-whole-words');
    });

  it('every group has its tools by patterns, also those of a gateway', () => {
    const tools = [
      'codexec_execute_code',
      'codexec_list_files',
      'execute_code',
      'codex_run',
      'x_codexec_y',
    ].map((name) => ({ name }));
    assert.deepEqual(
      listRouted(routes, 'plot the data', tools).map(({ name }) => name),
      ['codexec_execute_code', 'codexec_list_files', 'execute_code'],
    );
    assert.deepEqual(listRouted(routes, 'book a table', tools), []);
    for (const { group } of shipped.routes) assert.ok(Object.hasOwn(shipped.groups, group), group);
    recordProof('F1:groups-by-glob');
  });
});

const lead = (when: string[], not: string[] = []) => {
  const route = { group: 'g', when, not, examples: [], counterexamples: [] };
  const own = createToolRoutes({ core: [], runsCode: [], groups: { g: ['*'] }, routes: [route] });
  return (request: string): boolean => own.findGroups(request).includes('g');
};

describe('phrases', () => {
  it('are found by whole words, in plural, past and -ing forms', () => {
    const leads = lead(['plot', 'query', 'compute', 'c++']);
    for (const yes of ['plotting', 'Plotted!', 'two plots', 'queries', 'queried', 'computing', 'is it c++?'])
      assert.ok(leads(yes), yes);
    for (const no of ['plotter', 'computer', 'recompute', 'c', 'exploit']) assert.ok(!leads(no), no);
  });

  it('a star stands for up to three words', () => {
    const leads = lead(['install * package']);
    for (const yes of ['install package', 'install the packages', 'install that one nice package'])
      assert.ok(leads(yes), yes);
    for (const no of ['install a b c d package', 'package install']) assert.ok(!leads(no), no);
  });

  it('what means something else counts only where it stands', () => {
    const leads = lead(['code'], ['zip code']);
    assert.deepEqual(['zip code', 'zip codes', 'a zip of code', 'zip code in code'].map(leads), [
      false,
      false,
      true,
      true,
    ]);
  });

  it('need words at both ends, and few gaps', () => {
    for (const wrong of ['', '*', '* code', 'code *', '!!', 'a * b * c * d'])
      assert.ok(!isPhrase(wrong), wrong);
    assert.ok(isPhrase('a * b * c'));
  });

  it('any request is judged, and a long one in bounds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (request) => Array.isArray(routes.findGroups(request))),
    );
    assert.deepEqual(routes.findGroups(`${'word '.repeat(100_000)} python`), []);
  });
});

it('the routes of the operator come after those that are shipped', () => {
  assert.throws(() => loadRoutes('/none/routes.json'), { code: 'config_invalid', message: /no such file/ });
  assert.ok(loadRoutes(null).isCore('execute_code'));
});
