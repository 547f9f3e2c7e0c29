import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../../platform/errors.ts';
import {
  parseAst,
  rewriteAst,
  serializeAst,
  type PandocAst,
  type PandocAttr,
  type PandocBlock,
  type PandocInline,
  type PandocMeta,
  type PandocMetaValue,
} from './ast.ts';
import { sanitizeAst, type SanitizedDocument } from './sanitize.ts';
import { visitAst } from './visit.ts';

const hostile = fc.constantFrom(
  'a',
  '',
  '"',
  "'--",
  '#read("/etc/passwd")',
  '\\newpage',
  '\\input{x}',
  '<b>',
  '</b>',
  '__proto__',
  'typst:text',
  'javascript:x',
  'https://a.b/"',
  'http://a.b/c.png',
  '../x.png',
  'plot.png',
  'data:image/png;base64,AAAA',
  '#f',
  '1pt); #x',
  '50%',
  'page-break',
  'width',
  'style',
  'lang',
  'html',
  'break-after: page',
  '\ud800',
  '\0',
  '<!--x-->',
);
// oxlint-disable-next-line eslint/no-control-regex -- they are replaced where a tree is read, before it is judged
const unwritable = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;
const text = fc
  .oneof({ weight: 3, arbitrary: hostile }, fc.string({ unit: 'binary', maxLength: 8 }))
  .map((one) => one.replaceAll(unwritable, '\ufffd'));
const attr: fc.Arbitrary<PandocAttr> = fc.tuple(
  text,
  fc.array(text, { maxLength: 3 }),
  fc.array(fc.tuple(text, text), { maxLength: 3 }),
);
const harmless = fc.constantFrom('plot.png', 'a b.png', 'data:image/png;base64,AAAA', '/artifacts/x.png');
const names = fc.constantFrom(
  'title',
  'author',
  'abstract',
  'keywords',
  'nocite',
  'lang',
  'toc',
  'csl',
  'x',
  '__proto__',
);

type Parts = { inlines: PandocInline[]; blocks: PandocBlock[]; meta: PandocMetaValue };

const parts = fc.letrec<Parts>((tie) => {
  const inlines = fc.array(
    fc.oneof(
      { maxDepth: 4 },
      text.map((c): PandocInline => ({ t: 'Str', c })),
      fc.constantFrom<PandocInline>({ t: 'Space' }, { t: 'SoftBreak' }),
      fc
        .tuple(fc.constantFrom('html', 'html', 'html', 'typst'), text)
        .map((c): PandocInline => ({ t: 'RawInline', c })),
      fc.tuple(fc.constant({ t: 'InlineMath' }), text).map((c): PandocInline => ({ t: 'Math', c })),
      fc.tuple(attr, text).map((c): PandocInline => ({ t: 'Code', c })),
      tie('inlines').map((c): PandocInline => ({ t: 'Emph', c })),
      fc.tuple(attr, tie('inlines')).map((c): PandocInline => ({ t: 'Span', c })),
      fc.tuple(attr, tie('inlines'), fc.tuple(text, text)).map((c): PandocInline => ({ t: 'Link', c })),
      fc
        .tuple(attr, tie('inlines'), fc.tuple(fc.oneof({ weight: 9, arbitrary: harmless }, text), text))
        .map((c): PandocInline => ({ t: 'Image', c })),
      tie('blocks').map((c): PandocInline => ({ t: 'Note', c })),
    ),
    { maxLength: 4 },
  );
  const blocks = fc.array(
    fc.oneof(
      { maxDepth: 4 },
      inlines.map((c): PandocBlock => ({ t: 'Para', c })),
      fc
        .tuple(fc.constantFrom('html', 'html', 'html', 'latex'), text)
        .map((c): PandocBlock => ({ t: 'RawBlock', c })),
      fc.tuple(attr, text).map((c): PandocBlock => ({ t: 'CodeBlock', c })),
      fc.array(tie('blocks'), { maxLength: 2 }).map((c): PandocBlock => ({ t: 'BulletList', c })),
      fc.tuple(attr, tie('blocks')).map((c): PandocBlock => ({ t: 'Div', c })),
      fc.tuple(fc.constant(1), attr, inlines).map((c): PandocBlock => ({ t: 'Header', c })),
      fc
        .tuple(attr, fc.tuple(fc.constant(null), tie('blocks')), tie('blocks'))
        .map((c): PandocBlock => ({ t: 'Figure', c })),
    ),
    { maxLength: 3 },
  );
  const meta = fc.oneof(
    { maxDepth: 3 },
    inlines.map((c): PandocMetaValue => ({ t: 'MetaInlines', c })),
    text.map((c): PandocMetaValue => ({ t: 'MetaString', c })),
    blocks.map((c): PandocMetaValue => ({ t: 'MetaBlocks', c })),
    fc.array(tie('meta'), { maxLength: 2 }).map((c): PandocMetaValue => ({ t: 'MetaList', c })),
    fc.dictionary(names, tie('meta'), { maxKeys: 2 }).map((c): PandocMetaValue => ({ t: 'MetaMap', c })),
  );
  return { inlines, blocks, meta };
});

const asts: fc.Arbitrary<PandocAst> = fc
  .tuple(parts.blocks, fc.dictionary(names, parts.meta, { maxKeys: 2 }))
  .map(([blocks, meta]) => ({ 'pandoc-api-version': [1, 23, 1], meta: meta as PandocMeta, blocks }));

/** Null where it was refused. Anything else that is thrown fails the property. */
function judged(ast: PandocAst): SanitizedDocument | null {
  try {
    return sanitizeAst(ast, { stage: 'written', mostPictureBytes: 100 });
  } catch (error) {
    assert.ok(isWorkcrateError(error, 'document_invalid'), String(error));
    return null;
  }
}

const known = /^(?:width|height|startFrom|lang|dir|custom-style|role|entry-spacing|line-spacing)$/;

function demandHarmless(node: PandocBlock | PandocInline): void {
  assert.ok(node.t !== 'RawInline' && node.t !== 'RawBlock' && node.t !== 'Null');
  if (node.t === 'Image') assert.match(node.c[2][0], /^picture-\d+$/);
  if (node.t === 'Link') assert.doesNotMatch(node.c[2][0], /^(?!https?:|#)[a-z]*:|["<>\s\\]/i);
  if (
    node.t === 'Div' ||
    node.t === 'Span' ||
    node.t === 'Code' ||
    node.t === 'CodeBlock' ||
    node.t === 'Image'
  )
    demandHarmlessAttr(node.c[0]);
  if (node.t === 'Header') demandHarmlessAttr(node.c[1]);
}

function demandHarmlessAttr([id, classes, pairs]: PandocAttr): void {
  assert.match(id, /^[\p{L}\p{N}_:.-]{0,200}$/u);
  for (const name of classes) assert.match(name, /^[\p{L}\p{N}_+#-]{1,60}$/u);
  for (const [key, value] of pairs) {
    assert.match(key, known);
    assert.match(value, /^[\p{L}\p{N}% ._-]*$/u);
  }
}

/** Every id once, and every link within the document to one of them. */
function demandPlaces(ast: PandocAst): void {
  const ids: string[] = [];
  const attr = (each: PandocAttr): PandocAttr => {
    if (each[0] !== '') ids.push(each[0]);
    return each;
  };
  rewriteAst(ast, { attr });
  assert.equal(new Set(ids).size, ids.length);
  visitAst(ast, (node) => {
    if (node.t === 'Link' && node.c[2][0].startsWith('#')) assert.ok(ids.includes(node.c[2][0].slice(1)));
  });
}

test('whatever a document holds, nothing dangerous is left of it, or it is refused', () => {
  let taken = 0;
  const property = fc.property(asts, (ast) => {
    const found = judged(ast);
    if (found === null) return;
    taken++;
    visitAst(found.ast, demandHarmless);
    assert.deepEqual(parseAst(serializeAst(found.ast)), found.ast);
    const { ast: cited } = sanitizeAst(found.ast, { stage: 'cited', mostPictureBytes: 0 });
    visitAst(cited, demandHarmless);
    demandPlaces(cited);
    assert.deepEqual(sanitizeAst(cited, { stage: 'cited', mostPictureBytes: 0 }).ast, cited);
  });
  fc.assert(property, { numRuns: 1000 });
  assert.ok(taken > 200, `only ${taken} were taken`);
});
