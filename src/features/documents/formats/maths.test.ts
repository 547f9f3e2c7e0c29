import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { allowedTexCommands, sanitizeMaths, type MathsFormat } from './maths.ts';
import type { PandocAst, PandocInline } from './tree.ts';

const treeWith = (formula: string): PandocAst => ({
  'pandoc-api-version': [1, 23, 1],
  meta: { title: { t: 'MetaInlines', c: [{ t: 'Math', c: [{ t: 'InlineMath' }, formula] }] } },
  blocks: [{ t: 'Para', c: [{ t: 'Math', c: [{ t: 'DisplayMath' }, formula] }] }],
});

function judged(formula: string, format: MathsFormat): { inlines: PandocInline[]; warning: string } {
  const { tree, warnings } = sanitizeMaths(treeWith(formula), format);
  const [block] = tree.blocks;
  const title = tree.meta['title'];
  assert.ok(block?.t === 'Para' && title?.t === 'MetaInlines');
  // What stands in the title is treated like what stands in the text.
  assert.deepEqual(kindsOf(title.c), kindsOf(block.c));
  return { inlines: block.c, warning: warnings.join() };
}

const kindsOf = (list: readonly PandocInline[]): string[] => list.map(({ t }) => t);
const formulaIn = (list: readonly PandocInline[]): string | null =>
  list.length === 1 && list[0]!.t === 'Math' ? list[0].c[1] : null;

/** What somebody may send, and what the warning names at least. */
const attacks: readonly [formula: string, named: string][] = [
  ['\\input{/etc/passwd}', '\\input'],
  ['\\immediate\\write18{id}', '\\immediate'],
  ['\\directlua{os.execute("id")}', '\\directlua'],
  ['\\openin5=/etc/passwd \\read5 to\\x', '\\openin'],
  ['\\catcode`\\|=0 |input', '\\catcode'],
  ['\\csname input\\endcsname{x}', '\\csname'],
  ['\\expandafter\\def\\x{}', '\\expandafter'],
  ['\\def\\alpha{\\input}', '\\def'],
  ['\\newcommand{\\x}{y}', '\\newcommand'],
  ['\\special{x}', '\\special'],
  ['\\pdfliteral{x}', '\\pdfliteral'],
  ['\\usepackage{x}', '\\usepackage'],
  ['\\verb|x|', '\\verb'],
  ['\\href{run:/bin/sh}{x}', '\\href'],
  ['\\text{\\input{x}}', '\\input'],
  ['\\text{$\\input{x}$}', ''],
  ['\\frac{1}{\\includegraphics{x}}', '\\includegraphics'],
  ['a^^5cinput{x}', '^^'],
  ['\\^^69nput{x}', '^^'],
  ['\\begin{filecontents}{x}\\end{filecontents}', '\\begin{filecontents}'],
  ['\\begin{verbatim}\\end{verbatim}', '\\begin{verbatim}'],
  ['\\end{document}', '\\end{document}'],
  ['\\begin{\\input x}\\end{\\input x}', '\\begin{\\input x}'],
  ['\\begin {aligned} a', 'aligned that is not closed'],
  ['a\\) text \\(b', '\\)'],
  ['a\\] text \\[b', '\\]'],
  ['a$ text $b', '$'],
  ['a}{b', '}'],
  ['{a', '{ that is not closed'],
  ['a\\', '\\'],
  ['#1', '#'],
  ['a & b', '&'],
];

const usual = [
  'T = 2\\pi\\sqrt{l/g}',
  '\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}',
  '\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}^{-1}',
  '\\sum_{i=0}^{\\infty} \\frac{x^i}{i!} \\quad \\text{for all } x \\in \\mathbb{R}',
  '\\left\\{ x \\mid x > 0 \\right\\}',
  '\\operatorname{rank}(A) \\leq \\min(m, n)',
  'x_{\\mathrm{max}}\\,\\%\\ \\&\\ \\#\\ \\$',
];

describe('maths in LaTeX and Markdown', () => {
  for (const [formula, named] of attacks)
    for (const format of ['latex', 'markdown'] as const)
      it(`${JSON.stringify(formula)} is text in ${format}, and the warning names ${named}`, () => {
        const { inlines, warning } = judged(formula, format);
        assert.equal(kindsOf(inlines).includes('Math'), false);
        assert.ok(warning.includes(named), warning);
      });

  it('every formula that people write stays as it is', () => {
    for (const format of ['latex', 'markdown', 'typst'] as const)
      for (const formula of usual) {
        const { inlines, warning } = judged(formula, format);
        assert.equal(formulaIn(inlines), formula);
        assert.equal(warning, '');
      }
  });

  it('a comment goes, since it would hide the end of the formula, and joins nothing', () => {
    assert.equal(formulaIn(judged('a % \\input{x}', 'latex').inlines), 'a ');
    assert.equal(formulaIn(judged('a \\% b', 'latex').inlines), 'a \\% b');
    assert.equal(formulaIn(judged('^%\n^5cinput', 'latex').inlines), '^\n^5cinput');
  });

  it('a formula within text within a formula stays in LaTeX, and is text in Markdown, where it would be the end', () => {
    const formula = 'f(x) = 0 \\text{ if $x < 0$}';
    assert.equal(formulaIn(judged(formula, 'latex').inlines), formula);
    assert.equal(formulaIn(judged(formula, 'markdown').inlines), null);
  });

  it('no word outside the list is left in any formula', () => {
    const piece = fc.oneof(
      fc.constantFrom(...attacks.map(([formula]) => formula), ...usual),
      fc.constantFrom(
        '\\',
        '^',
        '%',
        '\n',
        '{',
        '}',
        '$',
        '#',
        '&',
        'input',
        '\\text{',
        '\\begin',
        '{align}',
      ),
      fc.string({ unit: 'binary', maxLength: 4 }),
    );
    const formulas = fc.array(piece, { maxLength: 8 }).map((list) => list.join(''));
    fc.assert(
      fc.property(formulas, fc.constantFrom<MathsFormat>('latex', 'markdown'), (formula, format) => {
        const kept = formulaIn(judged(formula, format).inlines);
        if (kept === null) return;
        assert.equal(kept.includes('^^'), false);
        assert.equal(/(?:^|[^\\])(?:\\\\)*(?:\\$|%)/.test(kept), false, 'nothing hides what follows');
        for (const [, word] of kept.matchAll(/\\\\|\\([A-Za-z]+)/g))
          if (word !== undefined && word !== 'begin' && word !== 'end')
            assert.ok(allowedTexCommands.has(word), word);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('maths in Typst', () => {
  const inTypst: readonly string[] = [
    '\\operatorname{\\text{"\\#read("x")}}',
    '\\operatorname{\\text{\\textbackslash}} \\operatorname{\\text{\\#read(1)}}',
    '\\mathop{\\backslash x}',
    '\\operatorname"',
    '\\phantom{\\text{\\#sys.version}}',
    '\\newcommand{\\x}{\\operatorname}\\x{y}',
  ];
  for (const formula of inTypst)
    it(`${JSON.stringify(formula)} is text, since Pandoc does not escape it there`, () => {
      const { inlines, warning } = judged(formula, 'typst');
      assert.equal(formulaIn(inlines), null);
      assert.match(warning, /as text/);
    });
});
