import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkcrateError } from '../../platform/errors.ts';
import { inlinePictures } from './preview-pictures.ts';

const files: Readonly<Record<string, Uint8Array>> = {
  'plot.svg': Buffer.from('<svg/>'),
  'a b.png': Buffer.from('png'),
  'huge.png': Buffer.alloc(3 * 1024 ** 2),
};

async function* read(path: string): AsyncGenerator<Uint8Array> {
  const bytes = files[path];
  if (bytes === undefined) throw new WorkcrateError('not_found', 'There is none.');
  yield bytes;
}

const inline = async (page: string): Promise<string> =>
  (await inlinePictures(Buffer.from(page), read)).toString();

test('pictures of the crate are put into the page', async () => {
  const svg = Buffer.from('<svg/>').toString('base64');
  assert.equal(await inline('<img src="plot.svg">'), `<img src="data:image/svg+xml;base64,${svg}">`);
  assert.match(await inline("<IMG alt='' src = './a%20b.png' />"), /src = 'data:image\/png;base64,/);
  assert.equal(await inline('<img src="data:image/png;base64,AA">'), '<img src="data:image/png;base64,AA">');
});

for (const source of [
  'https://elsewhere.example/x.png',
  '//elsewhere.example/x.png',
  '../x.png',
  '/files/x.png',
  'none.png',
  'huge.png',
  'plot.html',
])
  test(`${source} is shown as no picture`, async () =>
    assert.equal(await inline(`a <img src="${source}"> b`), 'a <img src="data:,"> b'));

test('a policy that the page has for itself is left out, and nothing else is changed', async () => {
  const page = `<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="img-src 'self'"><p>x</p>`;
  assert.equal(await inline(page), '<meta charset="utf-8"><p>x</p>');
  assert.equal(await inline('<p title="img src=x">a < b</p>'), '<p title="img src=x">a < b</p>');
});

test('a page of nothing but begun tags takes no longer than its length', async () => {
  const page = '<img src="a '.repeat(200_000);
  assert.equal(await inline(page), page);
});
