import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPictureSize } from '../pictures.ts';
import { drawSvgs, type DrawnSvg } from './drawing.ts';

const never = new AbortController().signal;
const limits = { eachMs: 60_000, allMs: 60_000, memoryBytes: 2 ** 30 };

const svgOf = (inner: string, size = 'viewBox="0 0 50 20"'): Uint8Array =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" ${size}>${inner}</svg>`);
const square = svgOf('<rect width="9" height="9" fill="teal"/>');
/** Each layer takes as much as the whole picture. */
const layers = svgOf(
  `${'<g opacity=".9">'.repeat(400)}<rect width="50" height="20"/><circle r="2"/>${'</g>'.repeat(400)}`,
);

function sizeOf(drawn: DrawnSvg | undefined): unknown {
  return typeof drawn === 'object' ? readPictureSize(drawn, 'png') : drawn;
}

test('an SVG is drawn at the width that is wanted, as far as that is not too large', async () => {
  const jobs = [100, 1_000_000].map((width) => ({ svg: square, width }));
  const [small, large] = await drawSvgs(jobs, never, limits);
  assert.deepEqual(sizeOf(small), { width: 100, height: 40 });
  assert.deepEqual(sizeOf(large), { width: 3162, height: 1265 });
});

test('an SVG is not drawn where something of it would be missing', async () => {
  const cases: [Uint8Array, DrawnSvg][] = [
    [svgOf('<text>x</text>'), 'has text'],
    [svgOf('<defs><s:text xmlns:s="http://www.w3.org/2000/svg" id="t">x</s:text></defs>'), 'has text'],
    [svgOf('<image href="data:image/webp;base64,UklGRg=="/>'), 'failed'],
  ];
  const jobs = cases.map(([svg]) => ({ svg, width: 100 }));
  assert.deepEqual(
    await drawSvgs(jobs, never, limits),
    cases.map(([, expected]) => expected),
  );
});

test('without the package nothing is drawn, and that is told', async () => {
  assert.deepEqual(await drawSvgs([{ svg: square, width: 9 }], never, limits, false), ['not installed']);
});

test('an SVG that cannot be drawn leaves the next one alone', async () => {
  const bad = [
    svgOf('', 'width="0" height="0"'),
    svgOf('<rect'),
    svgOf('<rect width="9" height="9"/>', 'width="1" height="1000000"'),
    Buffer.from('<svg/>'),
  ];
  const drawn = await drawSvgs(
    [...bad, square].map((svg) => ({ svg, width: 50 })),
    never,
    limits,
  );
  assert.deepEqual(drawn.map(sizeOf), [...bad.map(() => 'failed'), { width: 50, height: 20 }]);
});

test('an SVG that takes too long, or too much memory, is given up', async () => {
  const jobs = [
    { svg: layers, width: 3000 },
    { svg: square, width: 50 },
  ];
  const drawn = await drawSvgs(jobs, never, { ...limits, memoryBytes: 50 * 1024 * 1024 });
  assert.deepEqual(drawn.map(sizeOf), ['failed', { width: 50, height: 20 }]);
  assert.deepEqual(await drawSvgs(jobs, never, { ...limits, allMs: 1 }), ['failed', 'failed']);
});

test('drawing ends when it is cancelled', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const drawing = drawSvgs([{ svg: layers, width: 3000 }], stop.signal, limits);
  setImmediate(() => stop.abort(reason));
  await assert.rejects(drawing, reason);
});
