import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { PackedCrate, PackedFile, PackedRun } from './packed.ts';
import { escapePreviewHtml, renderLink, renderCratePreview, formatPreviewSize } from './preview.ts';
import { getCrateSpecification } from './specification.ts';

function file(path: string): PackedFile {
  const sha256 = 'a'.repeat(64);
  return {
    path,
    knownAs: [path],
    description: '',
    size: 1,
    sha256,
    mediaType: 'text/plain',
    modified: null,
    origin: null,
  };
}

function runOf(text: string): PackedRun {
  const missing = {
    path: text,
    knownAs: [text],
    description: text,
    size: 1,
    sha256: 'b'.repeat(64),
    origin: null,
    missing: text,
  };
  return {
    id: 'exec_000000000000',
    title: 'Step 1',
    language: 'python',
    runtime: { name: text, version: text },
    libraries: [{ name: text, version: text }],
    session: text,
    cell: 1,
    script: text,
    workingDir: text,
    startedAt: 0,
    endedAt: 1,
    succeeded: false,
    outcome: text,
    error: text,
    sandbox: 'bubblewrap',
    limits: [{ name: text, value: text, unit: text }],
    code: file('code/main.py'),
    codeText: text,
    inputs: [{ ...file(`inputs/${text}`), mediaType: text }, missing],
    inputsMayBeIncomplete: true,
    results: [file(`results/${text}`), { ...file(`results/${text}.png`), mediaType: 'image/png' }, missing],
    moreResults: 3,
    resultsMayBeIncomplete: true,
    shownTexts: [text],
    logs: [],
    calls: [],
    toolsFile: null,
  };
}

/** A crate of two steps in which every text that a stranger can choose is this one. */
function crateOf(text: string, steps = 2): PackedCrate {
  return {
    about: {
      title: text,
      description: text,
      license: text,
      keywords: [text],
      authors: [{ name: text, affiliation: text }],
      user: text,
      published: 0,
      version: '1',
    },
    specification: getCrateSpecification(),
    runs: [runOf(text), { ...runOf(text), id: 'exec_000000000001', title: 'Step 2' }].slice(0, steps),
    files: [file(`files/${text}`)],
  };
}

/** The page without what strangers say: only tags and attributes that are ours are left to be seen. */
const tagsOf = (page: string): string[] => page.match(/<[^>]*>/g) ?? [];

const hostile = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</title></style></pre><script>',
  'javascript:alert(1)',
  '&lt;script&gt;',
  '<!--',
  ']]>',
  '\u202egnp.exe',
  '\0\u0008\ud800',
];
for (const text of hostile)
  it(`${JSON.stringify(text)} is only text on the page`, () => {
    const page = renderCratePreview(crateOf(text));
    assert.deepEqual(
      tagsOf(page).map((tag) => tag.replace(/(?:href|title|src|alt)="[^"]*"/g, '')),
      tagsOf(renderCratePreview(crateOf('harmless'))).map((tag) =>
        tag.replace(/(?:href|title|src|alt)="[^"]*"/g, ''),
      ),
    );
    assert.doesNotMatch(page, /<script|href="(?:javascript|data):/i);
    assert.ok(page.isWellFormed() && !['\0', '\b', '\u202e'].some((mark) => page.includes(mark)));
  });

it('any text is only text on the page', () => {
  const count = tagsOf(renderCratePreview(crateOf('harmless'))).length;
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', 'a', ' ', '/', ':', '\n', '-', '!') }),
      (text) => {
        const same = tagsOf(renderCratePreview(crateOf(`x${text}`))).length;
        assert.ok(Math.abs(same - count) <= 2, 'but for whether the licence is a link');
      },
    ),
    { numRuns: 50 },
  );
});

it('the page has no script, and fetches nothing but pictures beside it', () => {
  const page = renderCratePreview(crateOf('harmless'));
  assert.doesNotMatch(page, /<(?:script|link|iframe|object|embed)\b|@import|url\(/i);
  const sources = [...page.matchAll(/\bsrc="([^"]*)"/g)].map(([, source]) => source);
  assert.deepEqual(sources, ['./results/harmless.png', './results/harmless.png']);
  assert.match(
    page,
    /Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file:"/,
  );
});

it('steps are listed in their order, and a run alone is no step', () => {
  const page = renderCratePreview(crateOf('harmless'));
  assert.match(page, /<ol>[^]*#exec_000000000000[^]*#exec_000000000001[^]*<\/ol>[^]*Step 1[^]*Step 2/);
  assert.doesNotMatch(renderCratePreview(crateOf('harmless', 1)), /<ol>|Step 1/);
});

it('pictures that are large, or too many, are links only', () => {
  const { runs, ...crate } = crateOf('harmless', 1);
  const pictures = Array.from({ length: 60 }, (_, at) => ({ ...file(`${at}.png`), mediaType: 'image/png' }));
  const large = { ...file('large.png'), mediaType: 'image/png', size: 20_000_000 };
  const page = renderCratePreview({ ...crate, runs: [{ ...runs[0]!, results: [large, ...pictures] }] });
  assert.equal(page.match(/<img /g)?.length, 50);
  assert.doesNotMatch(page, /src="\.\/large/);
  assert.match(page, /href="large\.png"/);
});

it('links lead to the web or to a file beside the page, and nowhere else', () => {
  assert.equal(renderLink('https://a.org/?x=1&y=2', 'a'), '<a href="https://a.org/?x=1&amp;y=2">a</a>');
  assert.equal(renderLink('results/a%20b.txt', 'a b'), '<a href="results/a%20b.txt">a b</a>');
  for (const address of ['javascript:alert(1)', 'data:text/html,x', '//evil.org/', '/etc/passwd'])
    assert.equal(renderLink(address, 'x'), 'x');
});

it('sizes are told as people read them', () => {
  assert.deepEqual([0, 1, 999, 1000, 1_234_567, 2e15].map(formatPreviewSize), [
    '0 bytes',
    '1 bytes',
    '999 bytes',
    '1.0 KB',
    '1.2 MB',
    '2000.0 TB',
  ]);
  assert.equal(escapePreviewHtml(`<a href='x'>"&`), '&lt;a href=&#39;x&#39;&gt;&quot;&amp;');
});
