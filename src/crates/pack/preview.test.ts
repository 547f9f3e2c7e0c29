import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { PackedCrate, PackedFile } from './packed.ts';
import { escapePreviewHtml, renderLink, renderPreview, formatPreviewSize } from './preview.ts';
import { getCrateSpecification } from './specification.ts';

function file(path: string): PackedFile {
  const sha256 = 'a'.repeat(64);
  return {
    path,
    knownAs: path,
    description: '',
    size: 1,
    sha256,
    mediaType: 'text/plain',
    modified: null,
    origin: null,
  };
}

/** A crate in which every text that a stranger can choose is this one. */
function crateOf(text: string): PackedCrate {
  const missing = [{ name: text, size: 1, sha256: 'b'.repeat(64), origin: null }];
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
    run: {
      id: 'exec_000000000000',
      language: 'python',
      runtime: { name: text, version: text },
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
      inputs: [{ ...file(`inputs/${text}`), mediaType: text }],
      missing,
      results: [file(`results/${text}`)],
      logs: [],
    },
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
    const page = renderPreview(crateOf(text));
    assert.deepEqual(
      tagsOf(page).map((tag) => tag.replace(/(?:href|title)="[^"]*"/g, '')),
      tagsOf(renderPreview(crateOf('harmless'))).map((tag) => tag.replace(/(?:href|title)="[^"]*"/g, '')),
    );
    assert.doesNotMatch(page, /<script|href="(?:javascript|data):/i);
    assert.ok(page.isWellFormed() && !['\0', '\b', '\u202e'].some((mark) => page.includes(mark)));
  });

it('any text is only text on the page', () => {
  const count = tagsOf(renderPreview(crateOf('harmless'))).length;
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', 'a', ' ', '/', ':', '\n', '-', '!') }),
      (text) => {
        const same = tagsOf(renderPreview(crateOf(`x${text}`))).length;
        assert.ok(Math.abs(same - count) <= 2, 'but for whether the licence is a link');
      },
    ),
    { numRuns: 50 },
  );
});

it('the page has no script, and fetches nothing', () => {
  const page = renderPreview(crateOf('harmless'));
  assert.doesNotMatch(page, /<(?:script|link|img|iframe|object|embed)\b|\bsrc=|@import|url\(/i);
  assert.match(page, /Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/);
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
