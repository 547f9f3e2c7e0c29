import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../platform/errors.ts';
import { listResources } from './resource-list.ts';
import type { ResourceKind } from '../../core/offer/resource.ts';
import type { ToolContext } from '../../core/offer/tool.ts';

const context = {} as ToolContext;

/** A kind with so many resources, named by numbers. */
function countingKind(name: string, count: number): ResourceKind {
  return {
    name,
    group: 'files',
    title: name,
    description: name,
    template: `workcrate://${name}/{id}`,
    async list({ after, limit }) {
      const start = after === null ? 0 : Number(after) + 1;
      const ids = Array.from({ length: count }, (_, id) => id).slice(start, start + limit);
      const resources = ids.map((id) => ({
        variables: { id: String(id) },
        name: `${name} ${id}`,
        description: '',
        mimeType: 'text/plain',
      }));
      return { resources, next: start + limit < count ? String(ids.at(-1)) : null };
    },
    read: () => Promise.reject(new Error('is not read')),
    complete: async () => [],
  };
}

/** The URIs of each page. */
async function readPages(kinds: readonly ResourceKind[]): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await listResources(kinds, cursor, context);
    pages.push(page.resources.map(({ uri }) => uri));
    cursor = page.nextCursor;
  }
  return pages;
}

describe('the list of resources', () => {
  it('has some of every kind on its first page, and each resource once', async () => {
    const pages = await readPages([countingKind('a', 60), countingKind('b', 3), countingKind('c', 26)]);
    const perPage = pages.map((uris) =>
      ['a', 'b', 'c'].map((kind) => uris.filter((uri) => uri.includes(`//${kind}/`)).length),
    );
    assert.deepEqual(perPage, [
      [25, 3, 25],
      [25, 0, 1],
      [10, 0, 0],
    ]);
    assert.equal(new Set(pages.flat()).size, 89);
  });

  it('ends after 100 of a kind', async () => {
    const uris = (await readPages([countingKind('a', 10_000)])).flat();
    assert.equal(uris.length, 100);
    assert.equal(uris.at(-1), 'workcrate://a/99');
  });

  it('is empty where there is no kind', async () => {
    assert.deepEqual(await readPages([]), [[]]);
  });

  it('refuses every cursor that is none of its own, and never throws anything else', async () => {
    const cursor = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json().map((json) => Buffer.from(json).toString('base64url')),
      fc.constant('x'.repeat(20_000)),
      fc.constant(Buffer.from('[["a","1",-1]]').toString('base64url')),
      fc.constant(Buffer.from('[["a","1",100]]').toString('base64url')),
    );
    await fc.assert(
      fc.asyncProperty(cursor, async (given) => {
        const { resources } = await listResources([countingKind('a', 3)], given, context).catch(
          (error: unknown) => {
            assert.ok(isWorkcrateError(error, 'invalid_input'));
            return { resources: [] };
          },
        );
        assert.deepEqual(resources, []);
      }),
    );
  });
});
