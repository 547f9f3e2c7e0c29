import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { layOutGraph, maxNodes, type GraphAction } from './graph-layout.ts';

const thing = (id: string) => ({ id, name: id, href: null });

const act = (id: string, objects: readonly string[], results: readonly string[]): GraphAction => ({
  id,
  name: id,
  facts: [],
  instruments: [],
  objects: objects.map(thing),
  objectCount: objects.length,
  results: results.map(thing),
  resultCount: results.length,
  failed: false,
});

test('what was used is left of an action, and what was made right of it', () => {
  const { nodes, edges, shownActions } = layOutGraph([
    act('one', ['a'], ['b']),
    act('two', ['b', 'c'], ['d']),
  ]);
  assert.equal(shownActions, 2);
  assert.equal(nodes.length, 6);
  for (const { from, to, isBack } of edges) {
    assert.equal(isBack, false);
    assert.ok(from.x + from.width < to.x);
  }
  const layerOf = (id: string) =>
    nodes.find(
      (node) => (node.kind === 'thing' ? node.thing.id : node.kind === 'action' && node.action.id) === id,
    )?.layer;
  assert.deepEqual(['a', 'one', 'b', 'c', 'two', 'd'].map(layerOf), [0, 1, 2, 2, 3, 4]);
});

test('an edge of a cycle leads back, and the others do not', () => {
  const { edges } = layOutGraph([act('one', ['a'], ['b']), act('two', ['b'], ['a'])]);
  assert.equal(edges.filter(({ isBack }) => isBack).length, 1);
  assert.equal(layOutGraph([act('self', ['a'], ['a'])]).edges.filter(({ isBack }) => isBack).length, 1);
});

test('no graph is too large or has boxes that overlap, whatever refers to what', () => {
  const ids = fc.array(fc.integer({ min: 0, max: 30 }).map(String), { maxLength: 40 });
  const actions = fc.array(fc.tuple(ids, ids), { maxLength: 20 });
  fc.assert(
    fc.property(actions, (given) => {
      const list = given.map(([objects, results], at) =>
        act(`#${at}`, [...new Set(objects)], [...new Set(results)]),
      );
      const { nodes, edges, width, height } = layOutGraph(list);
      assert.ok(nodes.length <= maxNodes, String(nodes.length));
      for (const { from, to, isBack } of edges) if (!isBack) assert.ok(from.layer < to.layer);
      for (const [at, one] of nodes.entries()) {
        assert.ok(one.x >= 0 && one.y >= 0 && one.x + one.width <= width && one.y + one.height <= height);
        for (const other of nodes.slice(at + 1)) assert.ok(!overlap(one, other));
      }
    }),
    { numRuns: 60 },
  );
});

type Box = Record<'x' | 'y' | 'width' | 'height', number>;

const overlap = (one: Box, other: Box): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;
