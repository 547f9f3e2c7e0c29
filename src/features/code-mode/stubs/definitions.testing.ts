/** Definitions of tools as a hostile server could give them, and what checks the files that are made of them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { hashDefinition, type JsonSchema, type ToolDefinition } from '../../../core/offer/toolbox.ts';
import type { StubFiles } from './stubs.ts';

export function makeDefinition(given: Partial<ToolDefinition>): ToolDefinition {
  const name = given.name ?? 'look_up';
  const told = {
    title: null,
    description: 'Looks something up.',
    inputSchema: { type: 'object' },
    outputSchema: null,
    annotations: {},
    ...given,
  };
  return { server: 'files', nameThere: name, hash: hashDefinition(told), ...told, name };
}

/** What runs if a text of a definition gets out of its place. */
const injections = [
  '"""\nimport builtins; builtins.pwned = True\n"""',
  '")\nimport builtins; builtins.pwned = True\n#',
  "'); globalThis.pwned = true; ('",
  '*/ globalThis.pwned = true; /*',
  '`${globalThis.pwned = true}`',
  '\\',
  '\\"',
  '\u2028globalThis.pwned = true;\u2029',
  '\u202e\u2066reversed',
  'x): pass\nimport builtins; builtins.pwned = True\ndef y(',
  'x: (__import__("builtins").__dict__.update(pwned=True))',
  '\ud800',
  '\0',
];

const names = [
  ...injections,

  'class',
  'from',
  'None',
  'delete',
  'await',
  'list',
  'str',
  'dict',
  'Any',
  'TypedDict',
  'call',
  'ToolError',

  '__init__',
  '__class__',
  '__proto__',
  'constructor',
  '_call',
  '_none',
  '_more',
  'more',
  'self',
  'input',

  'a-b',
  'a b',
  'a_b',
  'a.b',
  'A_b',
  '1st',
  '',
  '日本語',
  'nаme',
  'name',
  'ﬁle',
  'file',
  '$ref',
  'x'.repeat(300),
];

const nameArbitrary = fc.oneof(fc.constantFrom(...names), fc.string({ unit: 'binary', maxLength: 12 }));
const textArbitrary = fc.oneof(
  fc.constantFrom(...injections),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.lorem(),
);

const dictionaryOf = (values: fc.Arbitrary<unknown>) =>
  fc
    .array(fc.tuple(nameArbitrary, values), { maxLength: 8 })
    // `fromEntries` makes `__proto__` an own property, as `JSON.parse` does.
    .map((entries) => Object.fromEntries(entries));

const { schema: schemaArbitrary } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    fc.constantFrom({ type: 'string' }, { type: 'integer' }, { type: ['string', 'null'] }, true, {}, null, 7),
    fc.record({
      enum: fc.array(fc.oneof(nameArbitrary, fc.integer(), fc.double(), fc.boolean(), fc.constant(null))),
    }),
    fc.record({ const: textArbitrary, default: textArbitrary, description: textArbitrary }),
    fc.record({
      $ref: fc.constantFrom('#', '#/$defs/a', '#/properties/name', '#/$defs/a/items', 'https://x', 3),
    }),
    fc.record({ type: fc.constant('array'), items: tie('schema') }),
    fc.record({ type: fc.constant('object'), additionalProperties: tie('schema') }),
    fc.record({
      type: fc.constant('object'),
      properties: dictionaryOf(tie('schema')),
      required: fc.array(nameArbitrary),
      $defs: fc.record({ a: tie('schema') }),
    }),
    fc.record({ anyOf: fc.array(tie('schema'), { maxLength: 4 }) }),
    fc.record({ allOf: fc.array(tie('schema'), { maxLength: 4 }) }),
    fc.anything(),
  ),
}));

const rootArbitrary = fc.oneof(
  fc.record({
    type: fc.constant('object'),
    properties: dictionaryOf(schemaArbitrary),
    required: fc.array(nameArbitrary),
    additionalProperties: fc.option(schemaArbitrary, { nil: false }),
    $defs: fc.record({ a: schemaArbitrary }),
  }),
  schemaArbitrary.filter((schema) => typeof schema === 'object' && schema !== null),
) as fc.Arbitrary<JsonSchema>;

export const definitionArbitrary: fc.Arbitrary<ToolDefinition> = fc
  .record({
    name: nameArbitrary,
    server: fc.constantFrom('github', 'my-server', 'my_server', 'class', '__init__', '../..', ...injections),
    nameThere: nameArbitrary,
    description: textArbitrary,
    inputSchema: rootArbitrary,
    outputSchema: fc.option(rootArbitrary),
  })
  .map((given) => makeDefinition({ ...given, name: given.name.toWellFormed() }));

/** Stands for the library of the runtime: a call gives what it was called with. */
const pythonLibrary = `
class ToolError(Exception):
    pass
def call(name, arguments):
    return [name, arguments]
`;
const nodeLibrary = `
export class ToolError extends Error {}
export const call = async (name, input) => [name, input];
`;

export function writeStubs(folder: string, files: StubFiles): void {
  const all = [...files, ['_workcrate.py', pythonLibrary], ['_workcrate.mjs', nodeLibrary]] as const;
  for (const [path, text] of all) {
    const target = join(folder, 'mcp', path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

/** Compiles and imports all, and lets only statements through that the generator writes on purpose. */
const pythonCheck = `
import ast, builtins, importlib, pathlib, py_compile, sys
root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root))
def check(ok, node):
    assert ok, ast.unparse(node)
def is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, (str, type(...)))
for path in sorted(root.glob('mcp/*/__init__.py')):
    py_compile.compile(str(path), doraise=True)
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith('_'):
            check(len(node.body) == 2 and is_text(node.body[0]), node)
            given = node.body[1].value
            check(isinstance(given, ast.Call) and given.func.id == '_call' and len(given.args) == 2, node)
            check(isinstance(given.args[0], ast.Constant) and given.args[1].func.id == '_given', node)
            check([d.id for d in node.decorator_list] == ['_tool'], node)
            check(all(isinstance(d, ast.Name) and d.id == '_none' for d in node.args.kw_defaults if d), node)
        else:
            check(isinstance(node, (ast.ImportFrom, ast.Assign, ast.FunctionDef)), node)
    stub = ast.parse(path.with_suffix('.pyi').read_text())
    compile(stub, str(path), 'exec')
    for node in ast.walk(stub):
        if isinstance(node, ast.Call):
            check(isinstance(node.func, ast.Name) and node.func.id in ('TypedDict', 'TypeVar', 'ParamSpec'), node)
        if isinstance(node, ast.Expr):
            check(is_text(node), node)
    functions = {n.name for n in stub.body if isinstance(n, ast.FunctionDef)}
    module = importlib.import_module('mcp.' + path.parent.name)
    assert functions - {'_tool'} == {n for n in dir(module) if hasattr(getattr(module, n), 'aio')}, functions
assert not hasattr(builtins, 'pwned')
`;

const nodeLine =
  /^(?:import \{ call, ToolError \} from '\.\.\/_workcrate\.mjs';|export \{ ToolError \};|export const [A-Za-z]\w* = \(input = \{\}\) => call\("(?:[^"\\\n]|\\[^\n])*", input\);|)$/u;

export function checkStubs(folder: string, files: StubFiles): void {
  writeStubs(folder, files);
  const python = spawnSync('python3', ['-B', '-c', pythonCheck, folder], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(python.status, 0, python.stderr);
  const modules = [...files.keys()].filter((path) => path.endsWith('.mjs'));
  for (const path of modules) for (const line of files.get(path)!.split('\n')) assert.match(line, nodeLine);
  const nodeCheck = modules
    .map((path, index) => `import * as m${index} from ${JSON.stringify(`./mcp/${path}`)}; void m${index};`)
    .join('\n');
  writeFileSync(join(folder, 'all.mts'), nodeCheck);
  writeFileSync(join(folder, 'all.mjs'), `${nodeCheck}\nif (globalThis.pwned) process.exit(1);`);
  const node = spawnSync(process.execPath, [join(folder, 'all.mjs')], { encoding: 'utf8', timeout: 60_000 });
  assert.equal(node.status, 0, node.stderr);
  const arguments_ = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', '--types', ''];
  const tsc = spawnSync('tsc', [...arguments_, 'all.mts'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(tsc.status, 0, tsc.stdout);
}
