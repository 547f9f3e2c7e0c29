import assert from 'node:assert/strict';
import { test } from 'node:test';
import { astOf, para, paragraph, str } from './ast.testing.ts';
import {
  maxTableCells,
  maxAstDepth,
  parseAst,
  serializeAst,
  type PandocAst,
  type PandocBlock,
  type PandocInline,
} from './ast.ts';

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const nested = (levels: number): PandocBlock =>
  levels === 0 ? para() : { t: 'BlockQuote', c: [nested(levels - 1)] };

test('a tree is read, and written as it was', () => {
  const ast = astOf([para(str('a'), { t: 'Space' }, { t: 'Note', c: [para(str('b'))] })]);
  assert.deepEqual(parseAst(serializeAst(ast)), ast);
});

test('what is not known of a tree is left out', () => {
  const given = { ...astOf([{ t: 'Para', c: [], more: 1 } as PandocBlock]), more: 2 };
  assert.deepEqual(parseAst(bytesOf(given)), astOf([para()]));
});

const malformed: [what: string, value: unknown][] = [
  ['an unknown block', astOf([{ t: 'Program', c: [] } as unknown as PandocBlock])],
  ['an unknown inline', paragraph({ t: 'Run', c: [] } as unknown as PandocInline)],
  ['a block among inlines', paragraph(para() as unknown as PandocInline)],
  ['an inline that is no text', paragraph({ t: 'Str', c: 1 } as unknown as PandocInline)],
  ['a name of the prototype', paragraph({ t: 'constructor', c: [] } as unknown as PandocInline)],
  ['attributes of another form', paragraph({ t: 'Code', c: [['a'], 'b'] } as unknown as PandocInline)],
  ['too few parts', astOf([{ t: 'Header', c: [1] } as unknown as PandocBlock])],
  ['a heading of no level', astOf([{ t: 'Header', c: [1.5, ['', [], []], []] }])],
  ['unknown metadata', astOf([], { a: { t: 'MetaCode', c: '' } as never })],
  ['another version', { ...astOf([]), 'pandoc-api-version': [2, 0] }],
  ['no blocks', { 'pandoc-api-version': [1, 23], meta: {} }],
  ['no tree', null],
  ['a list', []],
];

for (const [what, value] of malformed)
  test(`a tree with ${what} is refused`, () => {
    assert.throws(() => parseAst(bytesOf(value)), {
      code: 'document_invalid',
      message: /with an unknown part/,
    });
  });

test('what is not JSON is the fault of Pandoc', () => {
  assert.throws(() => parseAst(Buffer.from('{')), { code: 'document_failed' });
});

test('a tree that is too deep is refused, however deep', () => {
  parseAst(serializeAst(astOf([nested(maxAstDepth - 1)])));
  assert.throws(() => parseAst(serializeAst(astOf([nested(maxAstDepth)]))), {
    message: /100 deep: flatten it/,
  });
  const bottomless = `${'{"t":"BlockQuote","c":['.repeat(200_000)}${']}'.repeat(200_000)}`;
  const text = JSON.stringify(astOf([])).replace('"blocks":[]', `"blocks":[${bottomless}]`);
  assert.throws(() => parseAst(Buffer.from(text)), { code: 'document_invalid', message: /100 deep/ });
});

test('a table with too many cells is refused', () => {
  const cell = [['', [], []], { t: 'AlignDefault' }, 1, 1, []];
  const row = [['', [], []], Array.from({ length: 1001 }, () => cell)];
  const rows = [['', [], []], Array.from({ length: maxTableCells / 1000 }, () => row)];
  const none = [['', [], []], []];
  const table = { t: 'Table', c: [['', [], []], [null, []], [], rows, [], none] } as unknown as PandocBlock;
  assert.throws(() => parseAst(bytesOf(astOf([table]) satisfies PandocAst)), {
    message: /more than 200000 cells/,
  });
});
