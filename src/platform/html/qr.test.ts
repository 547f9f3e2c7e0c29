import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import jsqr from 'jsqr';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { drawQr, renderQr, type QrModules } from './qr.ts';

/** The package is CommonJS: its default export has the function as its own default. */
const decode = jsqr as unknown as typeof jsqr.default;

const pixelsOfModule = 3;

/** What an independent decoder reads in a picture of the modules, with the margin of the standard. */
function readModules(modules: QrModules): { text: string; version: number } | null {
  const side = (modules.length + 8) * pixelsOfModule;
  const pixels = new Uint8ClampedArray(side * side * 4).fill(255);
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++) {
      const [row, column] = [y, x].map((at) => Math.floor(at / pixelsOfModule) - 4);
      if (modules[row!]?.[column!] === true) pixels.fill(0, (y * side + x) * 4, (y * side + x) * 4 + 3);
    }
  const found = decode(pixels, side, side);
  return found && { text: Buffer.from(found.binaryData).toString(), version: found.version };
}

/** Bytes that each version takes with error correction M, by the tables of the standard. */
const capacities = [
  14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287, 331, 362, 412, 450, 504, 560, 624, 666,
];

test('another decoder reads the longest text of every version, and one byte more takes the next', () => {
  for (const [at, capacity] of capacities.entries()) {
    const text = 'https://files.example/'.padEnd(capacity, 'aZ09-_').slice(0, capacity);
    assert.deepEqual(readModules(drawQr(text)!), { text, version: at + 1 });
    if (at + 1 < capacities.length) assert.equal(drawQr(`${text}x`)!.length, 17 + 4 * (at + 2));
  }
  assert.equal(drawQr('x'.repeat(667)), null);
  assert.equal(renderQr('x'.repeat(667), ''), null);
});

test('another decoder reads any text', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 150, unit: 'grapheme' }), (text) => {
      // What is no Unicode cannot be told.
      const told = text.toWellFormed();
      assert.equal(readModules(drawQr(told)!)?.text, told);
    }),
    { numRuns: 30 },
  );
  recordProof('G1:qr-code-of-a-link');
});

test('the picture has a margin, a label, and nothing but a path', async () => {
  const picture = String(await renderQr('https://files.example/a', '"><script>alert(1)</script>'));
  assert.match(picture, /^<svg class="qr" viewBox="0 0 33 33" role="img" aria-label="&quot;&gt;&lt;script/);
  assert.doesNotMatch(picture, /<(?!\/?(?:svg|rect|path)\b)/);
  assert.match(picture, /d="M4 4h7v1h-7z/);
});
