import assert from 'node:assert/strict';
import { test } from 'node:test';
import { image, paragraph } from './ast.testing.ts';
import type { PandocAst } from './ast.ts';
import { renamePictures } from './links.ts';
import { sanitizeAst, type SanitizedDocument } from './sanitize.ts';

const written = (ast: PandocAst): SanitizedDocument =>
  sanitizeAst(ast, { stage: 'written', mostPictureBytes: 1000 });
const cited = (ast: PandocAst): SanitizedDocument =>
  sanitizeAst(ast, { stage: 'cited', mostPictureBytes: 0 });

const wanted: [given: string, name: string][] = [
  ['plot.png', 'plot.png'],
  ['./plot.png', 'plot.png'],
  ['/artifacts/plot.png', 'plot.png'],
  ['artifacts/plot.png', 'plot.png'],
  ['my%20plot.png', 'my plot.png'],
  ['100%.png', '100%.png'],
  ['Übersicht 1.png', 'Übersicht 1.png'],
  ['file_0123456789abcdef01234567', 'file_0123456789abcdef01234567'],
];

for (const [given, name] of wanted)
  test(`the picture ${JSON.stringify(given)} is wanted as ${JSON.stringify(name)}`, () => {
    const { ast, pictures } = written(paragraph(image(given)));
    assert.deepEqual(pictures, [{ wanted: name, as: 'picture-1' }]);
    assert.deepEqual(ast, paragraph(image('picture-1')));
  });

const refusedPictures: [given: string, message: RegExp][] = [
  ['http://example.org/x.png', /not fetched from the network.*request_upload.*\/artifacts/],
  ['https://example.org/x.png', /network/],
  ['ftp://example.org/x.png', /network/],
  ['//example.org/x.png', /network/],
  ['\\\\example.org\\x.png', /network/],
  ['%2f%2fexample.org/x.png', /network/],
  ['file:///etc/passwd', /paths of the server/],
  ['/etc/passwd', /paths of the server/],
  ['/artifacts/../secret.png', /paths/],
  ['artifacts/a/b.png', /paths/],
  ['../x.png', /paths/],
  ['..', /paths/],
  ['%2e%2e/x.png', /paths/],
  ['..\\x.png', /paths/],
  ['a%00.png', /paths/],
  ['C:x.png', /paths/],
  ['javascript:x', /paths/],
  ['', /paths/],
  ['x'.repeat(256), /paths/],
  ['data:text/html,x', /not a picture/],
  ['data:image/png;base64,a b*c', /damaged/],
  [`data:image/png;base64,${'A'.repeat(2000)}`, /more than 1000 bytes/],
  [`data:image/png;base64,${'A'.repeat(20_000)}`, /more than 1000 bytes/],
];

for (const [given, message] of refusedPictures)
  test(`the picture ${JSON.stringify(given).slice(0, 60)} is refused`, () => {
    assert.throws(() => written(paragraph(image(given))), { code: 'document_invalid', message });
  });

test('the same picture is had once, and one in the text is taken out of it', () => {
  const [data, svg] = ['data:image/png;base64,iVBORw0KGgo=', 'data:image/svg+xml;utf8,%3Csvg/%3E'];
  const { pictures, embedded, ast } = written(
    paragraph(
      image('a.png'),
      image(data),
      image('/artifacts/a.png'),
      image(svg),
      image(data),
      image('b.png'),
    ),
  );
  assert.deepEqual(pictures, [
    { wanted: 'a.png', as: 'picture-1' },
    { wanted: 'b.png', as: 'picture-4' },
  ]);
  assert.deepEqual(
    embedded.map(({ as, bytes }) => [as, Buffer.from(bytes).toString('latin1')]),
    [
      ['picture-2', '\x89PNG\r\n\x1a\n'],
      ['picture-3', '<svg/>'],
    ],
  );
  const names = [1, 2, 1, 3, 2, 4].map((number) => image(`picture-${number}`));
  assert.deepEqual(ast, paragraph(...names));
  assert.deepEqual(
    renamePictures(paragraph(image('picture-1')), new Map([['picture-1', 'picture-1.png']])),
    paragraph(image('picture-1.png')),
  );
});

test('after citing, no picture is taken but those that were found', () => {
  cited(paragraph(image('picture-1.png')));
  for (const url of ['plot.png', 'picture-1.exe', 'picture-1.png/../x', 'http://example.org/picture-1.png'])
    assert.throws(() => cited(paragraph(image(url))), { code: 'document_invalid' });
});

test('a document with too many pictures is refused', () => {
  const many = Array.from({ length: 501 }, (_, at) => image(`${at}.png`));
  assert.throws(() => written(paragraph(...many)), { message: /more than 500 pictures/ });
});
