import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createLog } from '../observability/log.ts';
import { createPreviews, type PreviewFile } from './previews.ts';
import { parseCsvRows } from './table.ts';

const previews = createPreviews({ log: createLog('off') });
after(() => previews[Symbol.asyncDispose]());

async function render(
  filename: string,
  mediaType: string,
  content: string | Buffer,
  more: Partial<PreviewFile> = {},
) {
  const bytes = Buffer.from(content as string);
  const readStart = async (most: number): Promise<Buffer> => bytes.subarray(0, most);
  const file = { filename, mediaType, size: bytes.length, url: '?preview=1', readStart, ...more };
  return (await previews.render(file)).toString();
}

const injections = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><svg/onload=alert(1)>',
  "'-alert(1)-'",
  '</pre></code></td></table></title></style><script>alert(1)</script>',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](data:text/html,<script>alert(1)</script>)',
  '<javascript:alert(1)>',
  '![x](https://elsewhere.example/seen.png)',
  '[x]: javascript:alert(1)\n\n[x]',
  '```"><script>alert(1)</script>\n```',
  '| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |',
];

/** What is left of a page's own tags once the escaped text is taken out. */
function demandHarmless(rendered: string): void {
  assert.doesNotMatch(rendered, /<(?:script|svg|img src="?x|object|embed|link|meta|style|form)/i);
  const withoutValues = rendered.replaceAll(/="[^"]*"/g, '=""');
  assert.doesNotMatch(withoutValues, /<[^>]* on[a-z]+\s*=/i);
  assert.doesNotMatch(
    rendered,
    /(?:href|src)="(?!https?:|mailto:|\?preview=1|data:image\/(?:png|jpeg);base64,)/i,
  );
}

for (const [kind, name, type] of [
  ['text', 'a.txt', 'text/plain'],
  ['a table', 'a.csv', 'text/csv'],
  ['Markdown', 'a.md', 'text/markdown'],
] as const)
  test(`what ${kind} says runs nowhere`, async () => {
    for (const injection of injections) demandHarmless(await render(name, type, injection));
  });

test('what a notebook or a name says runs nowhere', async () => {
  for (const injection of injections) {
    const outputs = [
      { output_type: 'stream', text: [injection] },
      { output_type: 'display_data', data: { 'text/html': injection, 'image/svg+xml': injection } },
      { output_type: 'display_data', data: { 'image/png': injection } },
      { output_type: 'error', ename: injection, evalue: injection },
    ];
    const cells = ['markdown', 'code', 'raw'].map((cell_type) => ({ cell_type, source: injection, outputs }));
    demandHarmless(await render('a.ipynb', 'application/x-ipynb+json', JSON.stringify({ cells })));
    demandHarmless(await render(`${injection}.svg`, 'image/svg+xml', '<svg/>'));
    demandHarmless(await render(`${injection}.html`, 'text/html', injection));
  }
});

test('a table shows quoted fields, and says what it leaves out', async () => {
  assert.deepEqual(parseCsvRows('a,"b, ""c""\nd",\r\n1,2\n', ',', 9), [
    ['a', 'b, "c"\nd', ''],
    ['1', '2'],
  ]);
  assert.deepEqual(parseCsvRows('a,"never ends', ',', 9), [['a', 'never ends']]);
  const wide = await render(
    'a.csv',
    'text/csv',
    `${Array.from({ length: 10_000 }, (_, at) => `c${at}`).join()}\n1\n`,
  );
  assert.match(wide, /first 50 of at least 10000 columns/);
  assert.doesNotMatch(wide, /c50\b/);
  const long = await render('a.tsv', 'text/tab-separated-values', 'a\tb\n'.repeat(100_000));
  assert.match(long, /The first 200 rows\./);
});

test('Markdown that takes too long, or is nested too deep, is shown as text', async () => {
  for (const text of ['_a__'.repeat(16_000), '>'.repeat(60_000), '[a](<'.repeat(12_000)]) {
    const rendered = await render('a.md', 'text/markdown', text);
    assert.match(rendered, /<pre|<p>/);
  }
  assert.match(await render('b.md', 'text/markdown', '# Still *there*'), /<h2>Still <em>there<\/em><\/h2>/);
});

test('what is no picture, no PDF, no text and no notebook is told in words', async () => {
  assert.match(await render('a.png', 'image/png', 'none'), /not those of a picture/);
  assert.match(await render('a.pdf', 'application/pdf', 'none'), /not those of a PDF/);
  assert.match(await render('a.txt', 'text/plain', Buffer.from([1, 0, 2])), /no preview/);
  assert.match(await render('a.jl', 'application/octet-stream', 'x = 1'), /<pre[^>]*>x = 1/);
  assert.match(await render('a.ipynb', 'application/json', '{"cells": 3}'), /<pre/);
  assert.match(await render('a.bin', 'application/octet-stream', Buffer.from([7, 0])), /no preview/);
  assert.match(await render('a.zip', 'application/zip', 'x'), /no preview/);
  assert.match(await render('a.txt', 'text/plain', ''), /empty/);
});

test('no browser is given a picture of 500 megapixels', async () => {
  const png = Buffer.alloc(64);
  png.write('\x89PNG\r\n\x1a\n', 'latin1');
  png.writeUInt32BE(25_000, 16);
  png.writeUInt32BE(20_000, 20);
  assert.match(await render('a.png', 'image/png', png), /500 megapixels is not shown/);
  png.writeUInt32BE(250, 16);
  assert.match(await render('a.png', 'image/png', png), /<img src="\?preview=1"/);
});
