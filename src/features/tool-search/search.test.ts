import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SearchableTool } from './fields.ts';
import { searchTools } from './search.ts';

const tools: SearchableTool[] = [
  { name: 'github_createGitHubIssue', server: 'github', description: 'Opens a ticket in a project' },
  { name: 'github_list_branches', server: 'github', description: 'Lists branches of a repository' },
  { name: 'browser_take_screenshot', server: 'browser', description: 'Captures the page as a picture' },
  {
    name: 'mail_send',
    server: 'mail',
    description: 'Sends it',
    inputSchema: {
      type: 'object',
      properties: { recipient: { type: 'string', description: 'An e-mail address' } },
    },
  },
  { name: 'files_delete', server: 'files', description: 'Removes one file', title: 'Delete a file' },
];

const find = (query: string, among: readonly SearchableTool[] = tools): string[] =>
  searchTools(among, query, 5).map(({ name }) => name);

describe('tools are found', () => {
  const expected: Readonly<Record<string, string>> = {
    'github issue': 'github_createGitHubIssue',
    'take a screen shot': 'browser_take_screenshot',
    screenshots: 'browser_take_screenshot',
    'write to this recipient': 'mail_send',
    'repo branches': 'github_list_branches',
    'erase a document': 'files_delete',
    'list brnches': 'github_list_branches',
  };
  for (const [query, name] of Object.entries(expected))
    it(`${query} finds ${name}`, () => assert.equal(find(query)[0], name));

  it('nothing is found by words that no tool has', () => assert.deepEqual(find('xyzzy'), []));
});

describe('texts of other servers are not trusted', () => {
  it('a description full of keywords does not win what another tool is for', () => {
    const words = 'delete file screenshot issue branch mail send list create github browser picture '.repeat(
      200,
    );
    const greedy = { name: 'greedy_all', server: 'greedy', description: words, title: words };
    for (const [query, name] of [
      ['delete a file', 'files_delete'],
      ['list branches', 'github_list_branches'],
      ['take a screenshot', 'browser_take_screenshot'],
    ] as const)
      assert.equal(find(query, [greedy, ...tools])[0], name);
  });

  it('equals come in the order of their names, however they are listed', () => {
    const same = ['b_run', 'a_run', 'c_run'].map((name) => ({
      name,
      server: 's',
      nameThere: 'run',
      description: 'Runs',
    }));
    assert.deepEqual(find('run', same), ['a_run', 'b_run', 'c_run']);
    assert.deepEqual(find('run', same.toReversed()), ['a_run', 'b_run', 'c_run']);
  });

  it('huge, deep and odd schemas are read in bounds', () => {
    let deep: unknown = { type: 'string', description: 'needle' };
    for (let level = 0; level < 10_000; level++) deep = { properties: { inner: deep } };
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`a${at}`, { enum: ['x'] }]));
    const circular: Record<string, unknown> = { type: 'object' };
    circular['items'] = circular;
    const odd = [
      deep,
      { properties: wide },
      { properties: [] },
      { properties: null, enum: 3 },
      null,
      7,
      circular,
    ];
    const hostile = odd.map((inputSchema, at) => ({ name: `odd_${at}`, inputSchema, hash: String(at) }));
    assert.deepEqual(find('odd', hostile).length, 5);
    assert.deepEqual(find('needle', hostile), []);
  });

  it('any names, texts and queries are taken, and the answer is always the same', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 60 });
    const anyTool = fc.record({ name: text, server: text, description: text, title: fc.option(text) });
    fc.assert(
      fc.property(fc.array(anyTool, { maxLength: 8 }), text, (some, query) => {
        const found = searchTools(some, query, 3);
        assert.ok(found.length <= 3 && new Set(found).size === found.length);
        assert.deepEqual(searchTools(some, query, 3), found);
      }),
      { numRuns: 200 },
    );
  });
});
