import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { png, reportFigure, reportResult } from './reports.testing.ts';
import { parseFurtherResults, parseResult } from './results.ts';

describe('a report of code', () => {
  it('becomes a result with its parts', () => {
    const report = reportResult(
      { text: '   a\n0  1', rows: 1, columns: 1 },
      ['text/html', '<table>'],
      ['image/svg+xml', '<svg/>'],
    );
    assert.deepEqual(parseResult(report), {
      kind: 'value',
      text: '   a\n0  1',
      cut: false,
      rows: 1,
      columns: 1,
      parts: [
        { mime: 'image/svg+xml', bytes: Buffer.from('<svg/>') },
        { mime: 'text/html', bytes: Buffer.from('<table>') },
      ],
    });
  });

  it('is nothing where it is not what it claims to be', () => {
    const { header, payload } = reportFigure();
    const forged: Record<string, unknown>[] = [
      { type: 'done' },
      { kind: 'prompt' },
      { kind: 7 },
      { text: null },
      { text: { toString: 'x' } },
      { rows: -1 },
      { columns: 1.5 },
      { parts: {} },
      { parts: [] },
      { parts: [{ mime: 'image/png', size: payload.length - 1 }] },
      { parts: [{ mime: 'image/png', size: payload.length + 1 }] },
      {
        parts: [
          { mime: 'image/png', size: -1 },
          { mime: 'text/plain', size: payload.length + 1 },
        ],
      },
      { parts: [{ mime: 'image/png', size: `${payload.length}` }] },
      { parts: [{ mime: 'image/png', size: Number.MAX_VALUE }] },
      { parts: [{ size: payload.length }] },
      { parts: Array.from({ length: 33 }, () => ({ mime: 'text/plain', size: 0 })) },
    ];
    assert.notEqual(parseResult({ header, payload }), null);
    for (const given of forged)
      assert.equal(parseResult({ header: { ...header, ...given }, payload }), null, JSON.stringify(given));
  });

  it('is cut to what a model gets, without half a character', () => {
    const { text, cut } = parseResult(reportResult({ text: `x${'😀'.repeat(1000)}` }))!;
    assert.deepEqual([text, cut], [`x${'😀'.repeat(999)}`, true]);
    assert.equal(parseResult(reportResult({ text: 'a\ud800' }))!.text, 'a\ufffd');
  });

  it('a series has rows alone, and columns without rows are none', () => {
    const shape = (given: object) => {
      const { rows, columns } = parseResult(reportResult({ ...given }))!;
      return [rows, columns];
    };
    assert.deepEqual(shape({ rows: 3 }), [3, null]);
    assert.deepEqual(shape({ columns: 3 }), [null, null]);
  });

  it('has at most eight parts, the richest', () => {
    const parts = Array.from({ length: 20 }, (_unused, n) => [`application/vnd.n${n}+json`, '{}'] as const);
    const { parts: kept } = parseResult(reportResult({}, ...parts, ['text/html', '<b>']))!;
    assert.deepEqual(
      [kept.length, kept[0]!.mime, kept[7]!.mime],
      [8, 'text/html', 'application/vnd.n6+json'],
    );
  });

  it('has media types from a list, and pictures by their bytes', () => {
    const types = (...parts: Parameters<typeof reportResult>[1][]) =>
      parseResult(reportResult({}, ...parts))!.parts.map(({ mime }) => mime);
    assert.deepEqual(types(['image/png', '<script>alert(1)</script>']), ['application/octet-stream']);
    assert.deepEqual(types(['image/jpeg', png]), ['image/png']);
    assert.deepEqual(types(['text/html', png]), ['text/html']);
    assert.deepEqual(types(['text/html; charset=x', 'a']), ['application/octet-stream']);
    assert.deepEqual(types(['constructor', 'a'], ['__proto__', 'b']), ['application/octet-stream']);
    assert.deepEqual(types(['image/png', '']), ['application/octet-stream']);
  });

  it('counts further results, unless the count is none', () => {
    const count = (results: unknown) =>
      parseFurtherResults({ header: { type: 'more', results }, payload: png });
    assert.deepEqual([count(12), count(-1), count('9'), count(Infinity), count(0.5)], [12, 0, 0, 0, 0]);
  });

  it('a picture shows more of it than HTML, and HTML more than text', () => {
    const parts = ['x/y', 'text/plain', 'application/vnd.a+json', 'text/html', 'image/svg+xml'];
    const sorted = parseResult(reportResult({}, ...parts.map((mime) => [mime, '{}'] as const)))!.parts;
    const kept = [
      'image/svg+xml',
      'text/html',
      'text/plain',
      'application/vnd.a+json',
      'application/octet-stream',
    ];
    assert.deepEqual(
      sorted.map(({ mime }) => mime),
      kept,
    );
  });
});
