import assert from 'node:assert/strict';
import { test } from 'node:test';
import { astOf, html, link, para, paragraph, str } from './ast.testing.ts';
import type { PandocAst, PandocAttr, PandocBlock, PandocInline } from './ast.ts';
import { listCitedKeys, unwrapCitations } from './links.ts';
import { hasRareCharacters } from './markdown.ts';
import { sanitizeAst, type SanitizedDocument } from './sanitize.ts';

const written = (ast: PandocAst): SanitizedDocument =>
  sanitizeAst(ast, { stage: 'written', mostPictureBytes: 1000 });
const cited = (ast: PandocAst): SanitizedDocument =>
  sanitizeAst(ast, { stage: 'cited', mostPictureBytes: 0 });
const ofOne = (node: PandocInline): PandocInline[] => {
  const [block] = written(paragraph(node)).ast.blocks;
  return block?.t === 'Para' ? block.c : [];
};

for (const format of ['typst', 'latex', 'tex', 'openxml', 'HTMLx', ''])
  test(`raw code in ${JSON.stringify(format)} is refused, and what it begins with is shown`, () => {
    const raw: [string, string] = [format, `#read("/etc/passwd")${'x'.repeat(100)}`];
    for (const ast of [paragraph({ t: 'RawInline', c: raw }), astOf([{ t: 'RawBlock', c: raw }])])
      assert.throws(() => written(ast), {
        code: 'document_invalid',
        message: /^Raw LaTeX, Typst .*"#read\(\\"\/etc\/passwd\\"\)x+…"/,
      });
  });

test('raw code out of a bibliography is text', () => {
  const { ast } = cited(paragraph({ t: 'RawInline', c: ['latex', '\\foo bar'] }));
  assert.deepEqual(ast, paragraph(str('\\foo'), { t: 'Space' }, str('bar')));
});

const attributes: [of: string, given: PandocAttr, expected: PandocAttr][] = [
  ['Div', ['', [], [['typst:inset', '1pt); #read(1)']]], ['', [], []]],
  ['Div', ['a b"c<d', ['ok', 'no no', 'x"', 'c++', 'c#'], []], ['a-b-c-d', ['ok', 'c++', 'c#'], []]],
  ['Div', ['x'.repeat(300), [], []], ['x'.repeat(200), [], []]],
  [
    'Div',
    [
      'über:1.2_3',
      [],
      [
        ['onclick', 'x'],
        ['style', 'x'],
      ],
    ],
    ['über:1.2_3', [], []],
  ],
  [
    'Div',
    [
      '',
      [],
      [
        ['width', '50%'],
        ['width', '60%'],
        ['lang', 'fr'],
      ],
    ],
    [
      '',
      [],
      [
        ['width', '50%'],
        ['lang', 'fr'],
      ],
    ],
  ],
  [
    'Div',
    [
      '',
      [],
      [
        ['custom-style', 'My Style'],
        ['entry-spacing', '0'],
      ],
    ],
    [
      '',
      [],
      [
        ['custom-style', 'My Style'],
        ['entry-spacing', '0'],
      ],
    ],
  ],
  [
    'Div',
    [
      '',
      [],
      [
        ['custom-style', 'x"/><w:p>'],
        ['lang', 'fr") #x'],
      ],
    ],
    ['', [], []],
  ],
  [
    'Div',
    [
      '',
      [],
      [
        ['__proto__', 'x'],
        ['constructor', 'x'],
      ],
    ],
    ['', [], []],
  ],
  [
    'Image',
    [
      '',
      ['inline-svg'],
      [
        ['width', '8.5cm'],
        ['height', '1); #x'],
      ],
    ],
    ['', [], [['width', '8.5cm']]],
  ],
  [
    'Image',
    [
      '',
      [],
      [
        ['width', '300px '],
        ['height', '99999px'],
      ],
    ],
    ['', [], []],
  ],
  [
    'Span',
    [
      '',
      [],
      [
        ['width', '50%'],
        ['dir', 'rtl'],
      ],
    ],
    ['', [], [['dir', 'rtl']]],
  ],
  [
    'CodeBlock',
    [
      '',
      ['py'],
      [
        ['startFrom', '10'],
        ['x', 'y'],
      ],
    ],
    ['', ['py'], [['startFrom', '10']]],
  ],
  ['CodeBlock', ['', [], [['startFrom', '1#']]], ['', [], []]],
];

for (const [of, given, expected] of attributes)
  test(`the attribute ${JSON.stringify(given).slice(0, 80)} of a ${of} loses what is not known`, () => {
    const nodes: Record<string, (attr: PandocAttr) => PandocBlock> = {
      Div: (attr) => ({ t: 'Div', c: [attr, []] }),
      CodeBlock: (attr) => ({ t: 'CodeBlock', c: [attr, ''] }),
      Span: (attr) => para({ t: 'Span', c: [attr, []] }),
      Image: (attr) => para({ t: 'Image', c: [attr, [], ['picture-1', '']] }),
    };
    assert.deepEqual(cited(astOf([nodes[of]!(given)])).ast, astOf([nodes[of]!(expected)]));
  });

const targets: [given: string, expected: string | null][] = [
  ['https://example.org/a?b=c#d', 'https://example.org/a?b=c#d'],
  ['HTTP://example.org', 'HTTP://example.org'],
  ['mailto:a@example.org', 'mailto:a@example.org'],
  ['tel:+411234', 'tel:+411234'],
  ['doi:10.1000/182', 'https://doi.org/10.1000/182'],
  ['other.html', 'other.html'],
  ['a/b:c', 'a/b:c'],
  ['#A heading', '#Aheading'],
  ['#a%20b', '#a-b'],
  ['#ref-DBLP:conf/x', '#ref-DBLP:conf-x'],
  ['https://example.org/"); #read(1)', 'https://example.org/%22);#read(1)'],
  ['javascript:alert(1)', null],
  ['JaVaScRiPt:alert(1)', null],
  ['java\nscript:alert(1)', null],
  ['\u200bjavascript:alert(1)', null],
  ['\0 javascript:alert(1)', null],
  ['data:text/html,x', null],
  ['file:///etc/passwd', null],
  ['vbscript:x', null],
  ['\\\\host\\share', null],
  ['C:\\x', null],
  ['doi:x', null],
  [`https://example.org/${'x'.repeat(4000)}`, null],
];

for (const [given, expected] of targets)
  test(`a link to ${JSON.stringify(given).slice(0, 60)} becomes ${expected === null ? 'text' : expected}`, () => {
    assert.deepEqual(ofOne(link(given)), expected === null ? [str('text')] : [link(expected)]);
    assert.equal(written(paragraph(link(given))).warnings.length, expected === null ? 1 : 0);
  });

const place = (id: string): PandocBlock => ({ t: 'Header', c: [1, [id, [], []], []] });

test('ids are made unique, and a link to a place that is not there becomes text', () => {
  const blocks = [place('a'), place('a'), place('refs'), para(link('#a'), link('#ref-x'), link('#gone'))];
  const refs: PandocBlock = { t: 'Div', c: [['refs', [], []], [{ t: 'Div', c: [['ref-x', [], []], []] }]] };
  const { ast, warnings } = cited(astOf([...blocks, refs]));
  const expected = [place('a'), place('a-2'), place('refs-2'), para(link('#a'), link('#ref-x'), str('text'))];
  assert.deepEqual(ast, astOf([...expected, refs]));
  assert.match(warnings.join(), /places that are not in the document .*"#gone"/);
});

test('only nodes that every writer can lead to keep their ids', () => {
  const span = (id: string, ...c: PandocInline[]): PandocInline => ({ t: 'Span', c: [[id, [], []], c] });
  assert.deepEqual(ofOne(span('a', str('x'))), [span('a', str('x'))]);
  assert.deepEqual(ofOne(span('a')), [span('')]);
  assert.deepEqual(ofOne(span('a', span('b', str('x')))), [span('', span('b', str('x')))]);
  assert.deepEqual(ofOne({ t: 'Code', c: [['a', [], []], 'x'] }), [{ t: 'Code', c: [['', [], []], 'x'] }]);
});

const tags: [given: PandocInline[], expected: PandocInline[], named: string | null][] = [
  [[str('a'), html('<br>'), html('<BR />')], [str('a'), { t: 'LineBreak' }, { t: 'LineBreak' }], null],
  [[html('<sub>'), str('2'), html('</sub>')], [{ t: 'Subscript', c: [str('2')] }], null],
  [
    [html('<b>'), html('<i>'), str('x'), html('</i>'), html('</b>')],
    [{ t: 'Strong', c: [{ t: 'Emph', c: [str('x')] }] }],
    null,
  ],
  [[html('<b>'), html('<i>'), str('x'), html('</b>')], [{ t: 'Strong', c: [str('<i>'), str('x')] }], '"i"'],
  [[html('<b>'), str('x')], [str('<b>'), str('x')], '"b"'],
  [[str('x'), html('</b>')], [str('x'), str('</b>')], '"b"'],
  [[html('<!-- a -- b -->'), str('x')], [str('x')], null],
  [[html('<span style="x">'), str('x'), html('</span>')], [str('x')], null],
  [[str('vector'), html('<int>')], [str('vector'), str('<int>')], '"int"'],
  [[html('<script>'), str('x')], [str('<script>'), str('x')], '"script"'],
  [[html('<a href="javascript:x">'), str('x'), html('</a>')], [str('x')], 'javascript:x'],
  [
    [html("<a title='b' href='https://a.b/?x&amp;y'>"), str('text'), html('</a>')],
    [link('https://a.b/?x&y')],
    null,
  ],
];

for (const [given, expected, named] of tags)
  test(`the HTML ${JSON.stringify(given).slice(0, 90)} is said in Markdown's way, or stands as text`, () => {
    const { ast, warnings } = written(paragraph(...given));
    assert.deepEqual(ast, paragraph(...expected));
    assert.ok(named === null ? warnings.length === 0 : warnings.join().includes(named), warnings.join());
  });

test('HTML on lines of its own: comments go, a rule is one, a picture is had, the rest is text', () => {
  const blocks = [
    '<!-- x -->',
    '<hr/>',
    '<p align="center">',
    '<table>',
    '<img src="a.png" alt="an a" width="300">',
  ];
  const { ast, pictures } = written(astOf(blocks.map((text) => ({ t: 'RawBlock', c: ['html', text] }))));
  const shown: PandocInline = {
    t: 'Image',
    c: [
      ['', [], [['width', '300px']]],
      [str('an'), { t: 'Space' }, str('a')],
      ['picture-1', ''],
    ],
  };
  assert.deepEqual(ast, astOf([{ t: 'HorizontalRule' }, para(str('<table>')), para(shown)]));
  assert.equal(pictures.length, 1);
});

test('a picture of HTML is judged like any other, and so are its attributes', () => {
  for (const text of ['<img src="/etc/passwd">', '<img src="http://example.org/x.png">']) {
    assert.throws(() => written(paragraph(html(text))), { code: 'document_invalid' });
    assert.throws(() => written(astOf([{ t: 'RawBlock', c: ['html', text] }])), { code: 'document_invalid' });
  }
  const attr = ofOne(html('<img src="a.png" width="1); #x" height=20>'))[0];
  assert.deepEqual(attr?.t === 'Image' && attr.c[0], ['', [], [['height', '20px']]]);
});

const pageBreak: PandocBlock = { t: 'Div', c: [['', ['page-break'], []], []] };

test('HTML out of a bibliography brings no attributes along', () => {
  const { ast } = cited(paragraph(html('<img src="picture-1" width="1); #x">')));
  assert.deepEqual(ast, paragraph({ t: 'Image', c: [['', [], []], [], ['picture-1', '']] }));
});

test('a page break on a line of its own is one, and within a line it is text', () => {
  const [newpage, soft]: PandocInline[] = [str('\\newpage'), { t: 'SoftBreak' }];
  const broken = (...c: PandocInline[]): PandocBlock[] => written(paragraph(...c)).ast.blocks;
  assert.deepEqual(broken(newpage!), [pageBreak]);
  assert.deepEqual(broken(str('a'), soft!, newpage!, soft!, str('b')), [
    para(str('a')),
    pageBreak,
    para(str('b')),
  ]);
  const { ast, warnings } = written(paragraph(str('a'), { t: 'Space' }, newpage!));
  assert.deepEqual(ast, paragraph(str('a'), { t: 'Space' }, newpage!));
  assert.match(warnings.join(), /LaTeX was kept as text .*newpage/);
  const styled: PandocBlock = {
    t: 'Div',
    c: [['', [], [['style', 'page-break-after: always']]], [para(str('x'))]],
  };
  assert.deepEqual(written(astOf([styled])).ast.blocks, [pageBreak, para(str('x'))]);
});

test('commands of LaTeX stand as text, which a warning tells; a path of Windows is text', () => {
  const { warnings } = written(paragraph(str('\\begin{align}'), str('\\textbf{x}'), str('\\Users')));
  assert.match(warnings.join(), /as text .*: "\\\\begin\{align\}", "\\\\textbf\{x\}"\.$/);
});

test('labels are taken out of formulas, whose source would be shown otherwise', () => {
  const formula = (text: string): PandocInline => ({ t: 'Math', c: [{ t: 'DisplayMath' }, text] });
  assert.deepEqual(ofOne(formula('x \\label{eq:1} \\nonumber\\\\ y')), [formula('x    \\\\ y')]);
});

const cite = (...keys: string[]): PandocInline => {
  const citations = keys.map((citationId) => ({
    citationId,
    citationPrefix: [],
    citationSuffix: [],
    citationMode: { t: 'NormalCitation' },
    citationNoteNum: 1,
    citationHash: 0,
  }));
  return { t: 'Cite', c: [citations, [str('(x)')]] };
};

test('cited keys are counted wherever they stand, also in nocite and notes', () => {
  const ast = astOf([para(cite('b', 'a'), { t: 'Note', c: [para(cite('b'))] })], {
    nocite: { t: 'MetaInlines', c: [cite('*')] },
  });
  assert.deepEqual(
    listCitedKeys(ast).sort((one, other) => (one.key < other.key ? -1 : 1)),
    [
      { key: '*', count: 1 },
      { key: 'a', count: 1 },
      { key: 'b', count: 2 },
    ],
  );
  assert.deepEqual(unwrapCitations(paragraph(cite('a'))), paragraph(str('(x)')));
});

test('characters that the usual fonts may lack are seen', () => {
  const isRare = (text: string): boolean => hasRareCharacters(paragraph(str(text)));
  for (const text of ['Grüße, Ωμέγα, Привет', '“a” – b… ≤ → ∑ ├─┤ ☐ €', 'ἀρχῇ ½ ™'])
    assert.equal(isRare(text), false, text);
  for (const text of ['你', 'שלום', 'नमस्ते', '🎉', '한']) assert.equal(isRare(text), true, text);
  assert.equal(hasRareCharacters(astOf([{ t: 'CodeBlock', c: [['', [], []], '你'] }])), true);
});

test('a link that leads nowhere leaves no span that is marked twice, and no link to the mark that goes', () => {
  const span = (id: string, inside: PandocInline): PandocInline => ({
    t: 'Span',
    c: [[id, [], []], [inside]],
  });
  const linkTo = (target: string, inside: PandocInline): PandocInline => ({
    t: 'Link',
    c: [['', [], []], [inside], [target, '']],
  });
  const { ast } = cited(
    paragraph(span('a', linkTo('#nowhere', span('b', str('text')))), linkTo('#a', str('there'))),
  );
  assert.deepEqual(ast, paragraph(span('', span('b', str('text'))), str('there')));
});
