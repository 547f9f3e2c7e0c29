import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRootWith } from '../metadata/metadata.testing.ts';
import { readProvenance } from './provenance.ts';

const file = (id: string, name?: string) => ({ '@id': id, '@type': 'File', ...(name && { name }) });
const refer = (...ids: string[]) => ids.map((id) => ({ '@id': id }));

test('an action is told with its inputs, results, agent and instrument', () => {
  const crate = readRootWith(
    {},
    {
      '@id': '#run',
      '@type': 'CreateAction',
      name: 'The mean',
      startTime: '2024-01-02T03:04:05Z',
      object: refer('data/a%20b.csv', '#scale'),
      result: refer('mean.txt'),
      instrument: refer('main.py'),
      agent: refer('#ada'),
      actionStatus: { '@id': 'http://schema.org/FailedActionStatus' },
    },
    file('data/a%20b.csv'),
    file('mean.txt', 'The mean itself'),
    { '@id': 'main.py', '@type': ['File', 'SoftwareSourceCode'], name: 'main.py' },
    { '@id': '#ada', '@type': 'Person', name: 'Ada Byron' },
    { '@id': '#scale', '@type': 'PropertyValue', name: 'scale', value: '3' },
  );
  assert.deepEqual(readProvenance(crate), {
    actionCount: 1,
    actions: [
      {
        id: '#run',
        name: 'The mean',
        agents: ['Ada Byron'],
        instruments: [{ id: 'main.py', name: 'main.py', path: 'main.py' }],
        objects: [
          { id: 'data/a%20b.csv', name: 'data/a b.csv', path: 'data/a b.csv' },
          { id: '#scale', name: 'scale = 3', path: null },
        ],
        objectCount: 2,
        results: [{ id: 'mean.txt', name: 'The mean itself', path: 'mean.txt' }],
        resultCount: 1,
        startedAt: '2024-01-02T03:04:05Z',
        endedAt: null,
        failed: true,
      },
    ],
  });
});

test('actions are in the order in which they began, and bounded whatever there is', () => {
  const names = Array.from({ length: 5000 }, (_, at) => `f${at}`);
  const crate = readRootWith(
    {},
    ...Array.from({ length: 100 }, (_, at) => ({
      '@id': `#run${at}`,
      '@type': 'CreateAction',
      startTime: `2024-01-01T00:00:${String(99 - at).padStart(2, '0')}Z`,
      result: refer(...names),
    })),
    ...names.map((name) => file(name)),
  );
  const { actions, actionCount } = readProvenance(crate);
  assert.equal(actionCount, 100);
  assert.equal(actions[0]?.id, '#run99');
  assert.ok(actions.length <= 40);
  assert.deepEqual([actions[0]?.resultCount, actions[0]?.results.length], [5000, 60]);
});

test('a crate without actions, and one whose action refers to nothing, are told too', () => {
  assert.deepEqual(readProvenance(readRootWith({}, file('a.txt'))), { actions: [], actionCount: 0 });
  const { actions } = readProvenance(
    readRootWith({}, { '@id': '#run', '@type': 'CreateAction', object: refer('gone.csv'), result: 'words' }),
  );
  assert.deepEqual(actions[0]?.objects, [{ id: 'gone.csv', name: 'gone.csv', path: null }]);
  assert.equal(actions[0]?.resultCount, 1);
});
