import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { JsonSchema, ToolDefinition } from '../../../core/offer/toolbox.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { countTokens } from '../../../../test/tokens.testing.ts';
import { checkStubs, definitionArbitrary, makeDefinition, writeStubs } from './definitions.testing.ts';
import { maxStubTokens } from './detail.ts';
import { createStubCache, generateStubs, listStubEntries } from './stubs.ts';

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-stubs-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('whatever the definitions are, the files compile, import and type-check, and nothing of them runs', () => {
  fc.assert(
    fc.property(fc.array(definitionArbitrary, { minLength: 60, maxLength: 120 }), (definitions) => {
      inFolder((folder) => checkStubs(folder, generateStubs(definitions)));
    }),
    // To look for a smaller one costs a compiler each time.
    { numRuns: 4, endOnFailure: true },
  );
  recordProof('F6:hostile-definitions-stay-data');
});

const github = (name: string, given = {}) =>
  makeDefinition({ server: 'github', name: `github_${name}`, nameThere: name, ...given });

test('an entry has the types of the arguments and of the result, and the first sentences', () => {
  const definition = github('create_issue', {
    description: 'Creates an issue. It tells its number.',
    inputSchema: {
      type: 'object',
      properties: {
        labels: { type: 'array', items: { type: 'string' } },
        title: { type: 'string' },
        state: { enum: ['open', 'closed'] },
        from: { type: ['integer', 'null'] },
      },
      required: ['title'],
    },
    outputSchema: {
      type: 'object',
      properties: { number: { type: 'integer' }, author: { $ref: '#/$defs/Person' } },
      required: ['number'],
      $defs: { Person: { type: 'object', properties: { login: { type: 'string' } } } },
    },
  });
  const { python, node } = listStubEntries([definition]);
  assert.equal(
    python[0],
    `class create_issue__author(TypedDict, total=False):
    login: str
class create_issue__result(TypedDict):
    number: int
    author: NotRequired[create_issue__author]
@_tool
def create_issue(title: str, *, labels: list[str] = ..., state: Literal["open", "closed"] = ..., from_: int | None = ...) -> create_issue__result:
    "Creates an issue. It tells its number."
`,
  );
  assert.equal(
    node[0],
    `/** Creates an issue. It tells its number. */
export declare function create_issue(input: { title: string; labels?: string[]; state?: "open" | "closed"; "from"?: number | null }): Promise<{ number: number; author?: { login?: string } }>;
`,
  );
});

test('a function passes on what it was given, under the names of the schema, now or as an awaitable', () => {
  const properties = { title: {}, from: {}, 'max-results': {}, __proto__x: {}, _call: {}, None: {} };
  const definition = github('find', {
    inputSchema: { type: 'object', properties, required: ['title', 'from'] },
  });
  const python = `
import asyncio, json, sys
sys.path.insert(0, sys.argv[1])
from mcp.github import find
print(json.dumps([
    find('a', 'b'),
    find('a', from_=None, max_results=3, call_=1, None_=2, other=4),
    asyncio.run(find.aio(title='a', from_='b')),
]))
`;
  const node = `
import { find } from './mcp/github/index.mjs';
console.log(JSON.stringify([await find({ title: 'a', from: 'b' }), await find()]));
`;
  inFolder((folder) => {
    writeStubs(folder, generateStubs([definition]));
    const options = { encoding: 'utf8', cwd: folder, timeout: 60_000 } as const;
    const ran = spawnSync('python3', ['-c', python, folder], options);
    assert.equal(ran.stderr, '');
    assert.deepEqual(JSON.parse(ran.stdout), [
      ['github_find', { title: 'a', from: 'b' }],
      ['github_find', { title: 'a', from: null, 'max-results': 3, _call: 1, None: 2, other: 4 }],
      ['github_find', { title: 'a', from: 'b' }],
    ]);
    const module = spawnSync(process.execPath, ['--input-type=module', '-e', node], options);
    assert.equal(module.stderr, '');
    assert.deepEqual(JSON.parse(module.stdout), [
      ['github_find', { title: 'a', from: 'b' }],
      ['github_find', {}],
    ]);
  });
  recordProof('F6:typed-functions');
});

test('names that are the same as identifiers get numbers, and their own names are told', () => {
  const names = ['get-file', 'get.file', 'get_file', 'delete', 'nаme', 'name', '__init__'];
  const { python } = listStubEntries(names.map((name) => github(name)));
  const found = python.map((entry) => /def (\w+)\(.*\n {4}"(.*)"/.exec(entry)!.slice(1).join(': '));
  assert.deepEqual(found.toSorted(), [
    'delete_: Looks something up. (\\"delete\\")',
    'get_file: Looks something up. (\\"get-file\\")',
    'get_file_2: Looks something up. (\\"get.file\\")',
    'get_file_3: Looks something up. (\\"get_file\\")',
    'init: Looks something up. (\\"__init__\\")',
    'n_me: Looks something up. (\\"nаme\\")',
    'name: Looks something up.',
  ]);
  const folders = ['my-server', 'my_server', '../..', '_workcrate'].map((server) =>
    makeDefinition({ server }),
  );
  assert.deepEqual(
    [...generateStubs(folders).keys()].filter((path) => path.endsWith('.py')),
    ['unnamed/__init__.py', 'workcrate/__init__.py', 'my_server/__init__.py', 'my_server_2/__init__.py'],
  );
});

test('the order of definitions changes nothing', () => {
  const definitions = ['a-b', 'a_b', 'c'].flatMap((name) => [github(name), makeDefinition({ name })]);
  assert.deepEqual([...generateStubs(definitions)], [...generateStubs(definitions.toReversed())]);
});

const nest = (depth: number): JsonSchema =>
  depth === 0
    ? { type: 'string' }
    : {
        type: 'object',
        properties: { inner: nest(depth - 1), list: { type: 'array', items: nest(depth - 1) } },
      };

const hostileSchemas: Readonly<Record<string, JsonSchema>> = {
  recursive: {
    type: 'object',
    properties: { self: { $ref: '#' }, items: { type: 'array', items: { $ref: '#' } } },
  },
  'two that refer to each other': {
    $ref: '#/$defs/a',
    $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { allOf: [{ $ref: '#/$defs/a' }] } },
  },
  'deep and wide': nest(14),
  'ten thousand arguments': {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`argument_${n}`, nest(2)])),
    required: Array.from({ length: 200 }, (_, n) => `argument_${9000 + n}`),
  },
  'names of a megabyte': {
    type: 'object',
    properties: { ['x'.repeat(1e6)]: {}, name: { enum: ['y'.repeat(1e6)] } },
    required: ['x'.repeat(1e6)],
  },
  'a chain of references': {
    $ref: '#/$defs/d0',
    $defs: Object.fromEntries(
      Array.from({ length: 5000 }, (_, n) => [`d${n}`, { $ref: `#/$defs/d${n + 1}` }]),
    ),
  },
  'references that double': {
    $ref: '#/$defs/d0',
    $defs: Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [
        `d${n}`,
        {
          type: 'object',
          properties: { one: { $ref: `#/$defs/d${n + 1}` }, two: { $ref: `#/$defs/d${n + 1}` } },
        },
      ]),
    ),
  },
};

const hostileTools = Object.entries(hostileSchemas).map(([which, schema]) =>
  makeDefinition({
    name: which,
    inputSchema: schema,
    outputSchema: schema,
    description: 'x '.repeat(1e6),
  }),
);

for (const definition of hostileTools)
  test(`a schema that is ${definition.name} gives a short stub`, () => {
    for (const text of generateStubs([definition]).values()) assert.ok(text.length < 20_000);
    const { python, node } = listStubEntries([definition]);
    for (const entry of [...python, ...node])
      assert.ok(countTokens(entry) <= maxStubTokens, `${countTokens(entry)} tokens: ${entry}`);
  });

test('what is made of hostile schemas compiles, imports and type-checks', () => {
  inFolder((folder) => checkStubs(folder, generateStubs(hostileTools)));
});

test('more than may be generated is refused with what to do', () => {
  const definitions = Array.from({ length: 50 }, (_, n) => makeDefinition({ name: `tool_${n}` }));
  assert.throws(() => generateStubs(definitions, 5000), {
    code: 'too_large',
    message: /50 tools.*Name fewer/,
  });
});

test('the cache makes a tool anew only if its definition or its names are others', () => {
  let made = 0;
  const watch = (definition: ToolDefinition): ToolDefinition => ({
    ...definition,
    get inputSchema() {
      made++;
      return definition.inputSchema;
    },
  });
  const generate = createStubCache();
  const [one, two] = [github('a'), github('b')];
  const first = generate([watch(one), watch(two)]);
  assert.ok(made > 0);
  made = 0;
  assert.deepEqual(generate([watch(two), watch(one)]), first);
  assert.deepEqual([...generate([watch(two)]).keys()], [...first.keys()]);
  assert.equal(made, 0);
  for (const other of [
    { ...one, hash: two.hash },
    { ...one, name: 'x' },
    { ...one, nameThere: 'x' },
  ]) {
    generate([watch(other), watch(two)]);
    assert.ok(made > 0);
    made = 0;
  }
});
