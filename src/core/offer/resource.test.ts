import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  maxResourceTextBytes,
  readResourceUri,
  showBytes,
  toResourceUri,
  type ShownBytes,
} from './resource.ts';

const oneSegment = 'workcrate://artifacts/{name}';
const twoParts = 'workcrate://crates/{crate_id}/{+path}';

describe('the URI of a resource', () => {
  it('leads back to any name that it was made of', () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 255 });
    fc.assert(
      fc.property(name, (value) => {
        assert.deepEqual(readResourceUri(oneSegment, toResourceUri(oneSegment, { name: value })), {
          name: value,
        });
      }),
    );
    fc.assert(
      fc.property(name, name, (crate_id, path) => {
        assert.deepEqual(readResourceUri(twoParts, toResourceUri(twoParts, { crate_id, path })), {
          crate_id,
          path,
        });
      }),
    );
  });

  it('is ASCII without spaces, quotes or line breaks, whatever the name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (name) => {
        assert.match(toResourceUri(oneSegment, { name }), /^workcrate:\/\/artifacts\/[\w%.!~*'()-]+$/);
      }),
    );
  });

  it('is read from any text without throwing', () => {
    const uri = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }).map((rest) => `workcrate://artifacts/${rest}`),
    );
    fc.assert(
      fc.property(uri, (text) => void [oneSegment, twoParts].map((each) => readResourceUri(each, text))),
    );
  });

  const strange: readonly [uri: string, variables: Record<string, string> | null][] = [
    ['workcrate://artifacts/', null],
    ['workcrate://artifacts', null],
    ['workcrate://artifacts/a/b', null],
    ['workcrate://artifacts/%', null],
    ['workcrate://artifacts/%ff', null],
    ['WORKCRATE://artifacts/a', null],
    ['file:///etc/passwd', null],
    ['https://example.org/artifacts/a', null],
    ['workcrate://artifacts/a\nworkcrate://artifacts/b', null],
    [`workcrate://artifacts/${'a'.repeat(20_000)}`, null],
    ['workcrate://artifacts/..%2f..%2fetc', { name: '../../etc' }],
    ['workcrate://artifacts/a%00b', { name: 'a\0b' }],
    ['workcrate://artifacts/a?b#c', { name: 'a?b#c' }],
  ];
  for (const [uri, variables] of strange)
    it(`${JSON.stringify(uri.slice(0, 60))} is ${variables === null ? 'none of ours' : 'taken apart'}`, () => {
      assert.deepEqual(readResourceUri(oneSegment, uri), variables);
    });
});

const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(100)]);
const mebibyte = 1024 * 1024;

/** Bytes with a name; tells whether they were read. */
function stage(bytes: Buffer, more: Partial<ShownBytes> = {}) {
  const told = { read: false };
  const shown: ShownBytes = {
    name: 'a "name"',
    size: bytes.length,
    mediaType: 'text/csv',
    otherwise: 'Do this instead.',
    read: async () => {
      told.read = true;
      return bytes;
    },
    ...more,
  };
  return { told, shown };
}

describe('what is shown of bytes', () => {
  it('a text of up to 64 KB is shown, an empty one too', async () => {
    for (const text of ['', 'a,b\nø,2\n', 'x'.repeat(maxResourceTextBytes)])
      assert.deepEqual(await showBytes(stage(Buffer.from(text)).shown), { mimeType: 'text/csv', text });
  });

  it('a picture of up to 1 MB is shown under the type that its bytes have', async () => {
    for (const size of [png.length, mebibyte]) {
      const bytes = Buffer.alloc(size);
      png.copy(bytes);
      assert.deepEqual(await showBytes(stage(bytes).shown), {
        mimeType: 'image/png',
        blob: bytes.toString('base64'),
      });
    }
  });

  const unshown: readonly [what: string, bytes: Buffer, more: Partial<ShownBytes>][] = [
    ['a text of one byte more', Buffer.from('x'.repeat(maxResourceTextBytes + 1)), {}],
    ['a picture of one byte more', Buffer.concat([png, Buffer.alloc(mebibyte)]), {}],
    ['text with a NUL', Buffer.from('a\0b'), {}],
    ['what is not UTF-8', Buffer.from([0xff, 0xfe, 0x41]), {}],
    ['more than a limit', Buffer.from('abc'), { limit: 2 }],
  ];
  for (const [what, bytes, more] of unshown)
    it(`${what} is told in words, with what to do instead`, async () => {
      const body = await showBytes(stage(bytes, more).shown);
      assert.equal(body.mimeType, 'text/plain');
      assert.match(
        'text' in body ? body.text : '',
        /^"a \\"name\\"", .*, text\/csv\. It is not shown here.* Do this instead\.$/,
      );
    });

  it('large bytes are not even read', async () => {
    const { told, shown } = stage(Buffer.alloc(0), { size: mebibyte + 1 });
    await showBytes(shown);
    assert.equal(told.read, false);
  });

  it('what turns out to be text has a type of text', async () => {
    for (const mediaType of ['application/octet-stream', 'image/png', 'video/mp4']) {
      const { mimeType } = await showBytes(stage(Buffer.from('text'), { mediaType }).shown);
      assert.equal(mimeType, 'text/plain', mediaType);
    }
    assert.equal(
      (await showBytes(stage(Buffer.from('<svg/>'), { mediaType: 'image/svg+xml' }).shown)).mimeType,
      'image/svg+xml',
    );
  });
});
