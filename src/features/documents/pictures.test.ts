import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../platform/errors.ts';
import { gifOf, jpegOf, pngOf, svg, webpOf } from './pictures.testing.ts';
import {
  findPictures,
  sanitizePicture,
  detectPictureKind,
  readPictureSize,
  defaultPictureLimits,
  type DocumentPictureFiles,
} from './pictures.ts';

const limits = defaultPictureLimits;
const never = new AbortController().signal;
const called = { called: 'plot', as: 'picture-1' };

function sources(
  artifacts: Record<string, Uint8Array>,
  files: Record<string, Uint8Array> = {},
): DocumentPictureFiles & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async artifact(name) {
      asked.push(`artifact ${name}`);
      return artifacts[name] ?? null;
    },
    async file(name) {
      asked.push(`file ${name}`);
      return files[name] ?? null;
    },
  };
}

const cases = { png: pngOf(3, 2), jpg: jpegOf(300, 200), gif: gifOf(30, 20), webp: webpOf(40, 50), svg };

for (const [extension, bytes] of Object.entries(cases))
  test(`a picture is known as ${extension} by its bytes`, () => {
    const picture = sanitizePicture(bytes, called, limits);
    assert.deepEqual([picture.name, picture.called], [`picture-1.${extension}`, 'plot']);
  });

test('the size of a picture is read from its head', () => {
  assert.deepEqual(readPictureSize(pngOf(3, 2), 'png'), { width: 3, height: 2 });
  assert.deepEqual(readPictureSize(jpegOf(300, 200), 'jpg'), { width: 300, height: 200 });
  assert.deepEqual(readPictureSize(gifOf(30, 20), 'gif'), { width: 30, height: 20 });
  assert.deepEqual(readPictureSize(webpOf(40, 50), 'webp'), { width: 40, height: 50 });
  const lossy = Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBPVP8 ', 'latin1'), Buffer.alloc(14)]);
  lossy.writeUInt16LE(640, 26);
  lossy.writeUInt16LE(480, 28);
  assert.deepEqual(readPictureSize(lossy, 'webp'), { width: 640, height: 480 });
  const lossless = Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBPVP8L', 'latin1'), Buffer.alloc(14)]);
  lossless.writeUInt32LE(((480 - 1) << 14) | (640 - 1), 21);
  assert.deepEqual(readPictureSize(lossless, 'webp'), { width: 640, height: 480 });
});

test('a small file that claims an enormous picture is refused', () => {
  const bombs = [
    pngOf(1, 1, { width: 50_000, height: 50_000 }),
    pngOf(1, 1, { width: 1, height: 20_001 }),
    jpegOf(60_000, 60_000),
    gifOf(65_535, 65_535),
    webpOf(16_000_000, 16_000_000),
  ];
  for (const bytes of bombs)
    assert.throws(() => sanitizePicture(bytes, called, limits), {
      code: 'document_invalid',
      message: /^The picture "plot" has \d+ × \d+ pixels\. .* save a smaller version\.$/,
    });
});

test('what is damaged, or no picture, is refused with the name that was given', () => {
  const damaged = [
    pngOf(3, 2).subarray(0, 12),
    jpegOf(9, 9).subarray(0, 20),
    pngOf(1, 1, { width: 0, height: 1 }),
  ];
  for (const bytes of damaged)
    assert.throws(() => sanitizePicture(bytes, called, limits), { message: /"plot" is damaged/ });
  const others = ['%PDF-1.7', '<html><svg/></html>', 'hello', '', '<!-- <svg> --><x/>'];
  for (const text of others)
    assert.throws(() => sanitizePicture(Buffer.from(text), called, limits), {
      code: 'document_invalid',
      message: /"plot" is not a picture that a document can contain/,
    });
});

test('an SVG with code in it is refused', () => {
  const hostile = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>');
  assert.throws(() => sanitizePicture(hostile, called, limits), {
    code: 'document_invalid',
    message: /plot/,
  });
});

test('whatever the bytes, they are a picture or refused', () => {
  const starts = Object.values(cases).map((bytes) => Buffer.from(bytes).subarray(0, 16));
  const bytes = fc
    .tuple(fc.constantFrom(Buffer.alloc(0), ...starts), fc.uint8Array({ maxLength: 60 }))
    .map((parts) => Buffer.concat(parts));
  fc.assert(
    fc.property(bytes, (given) => {
      try {
        sanitizePicture(given, called, limits);
      } catch (error) {
        assert.ok(isWorkcrateError(error, 'document_invalid'), String(error));
      }
    }),
  );
  assert.equal(detectPictureKind(new Uint8Array()), null);
});

test('an artifact goes before a file of the same name, and an id is a file alone', async () => {
  const id = `file_${'0a'.repeat(12)}`;
  const from = sources({ 'a.png': pngOf(2, 2) }, { 'a.png': svg, 'b.jpg': gifOf(2, 2), [id]: svg });
  const wanted = [
    { wanted: 'a.png', as: 'picture-1' },
    { wanted: 'b.jpg', as: 'picture-2' },
    { wanted: id, as: 'picture-3' },
  ];
  const found = await findPictures(wanted, from, limits, never);
  assert.deepEqual(
    found.map(({ name }) => name),
    ['picture-1.png', 'picture-2.gif', 'picture-3.svg'],
  );
  assert.deepEqual(from.asked, ['artifact a.png', 'artifact b.jpg', 'file b.jpg', `file ${id}`]);
});

test('a picture that is nowhere is named, and how to see what there is', async () => {
  await assert.rejects(findPictures([{ wanted: 'x.png', as: 'picture-1' }], sources({}), limits, never), {
    code: 'document_invalid',
    message: /^There is no picture "x\.png" among your artifacts and files\. list_artifacts/,
    details: { picture: 'x.png' },
  });
});

test('pictures are bounded, each and all together', async () => {
  const small = { ...limits, eachBytes: 100, allBytes: 150 };
  const from = sources({ a: pngOf(2, 2), b: pngOf(2, 2), c: Buffer.alloc(101) });
  const wanted = ['a', 'b'].map((name) => ({ wanted: name, as: name }));
  await assert.rejects(findPictures(wanted, from, { ...small, allBytes: 100 }, never), {
    message: /^With "b", the pictures of the document have more than 100 bytes in all/,
  });
  await assert.rejects(findPictures([{ wanted: 'c', as: 'c' }], from, small, never), {
    message: /^The picture "c" has 101 bytes; at most 100 are allowed/,
  });
});

test('looking for pictures ends when it is cancelled', async () => {
  const cancelled = AbortSignal.abort(new Error('enough'));
  const from = sources({ a: svg });
  await assert.rejects(findPictures([{ wanted: 'a', as: 'picture-1' }], from, limits, cancelled), /enough/);
  assert.deepEqual(from.asked, []);
});
