import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createToken } from '../links/link.ts';
import { toPlainJson } from '../../platform/text/text.ts';
import { chainStart, toBoundedEntry, toNextLine, toRepeatedEntry } from './line.ts';
import { event, noon } from './log.testing.ts';

const bytesOf = (text: string): number => Buffer.byteLength(toPlainJson(text)) - 2;

test('texts are bounded as they stand in a line, are cut between characters, and say how long they were', () => {
  const character = fc.constantFrom('a', 'ü', '€', '\u0001', '\u202e', '😀', '"', '\ud800');
  const runs = fc.array(fc.tuple(character, fc.integer({ min: 1, max: 3000 })), { maxLength: 4 });
  fc.assert(
    fc.property(runs, (parts) => {
      const subject = parts.map(([one, count]) => one.repeat(count)).join('');
      const cut = toBoundedEntry(event({ subject }), noon);
      assert.ok(bytesOf(cut.subject!) <= 4096);
      if (bytesOf(subject) <= 4096) return assert.deepEqual([cut.subject, cut.details], [subject, undefined]);
      assert.ok(subject.startsWith(cut.subject!.slice(0, -1)) && cut.subject!.endsWith('…'));
      assert.ok(bytesOf(cut.subject!) > 4096 - 16, 'no more is cut than has to be');
      assert.equal(cut.details!['subject_bytes'], Buffer.byteLength(subject));
      if (subject.isWellFormed()) assert.ok(cut.subject!.isWellFormed());
    }),
    { numRuns: 200 },
  );
});

test('a secret in any text of an event is hidden before the text is cut, whoever tells it', () => {
  const [token, key] = [createToken(), `wck_${createToken()}`];
  for (const secret of [token, key, encodeURIComponent(`http://127.0.0.1:1/files/${token}`)])
    for (const before of [0, 170, 980, 4080]) {
      const text = `${'/'.repeat(before)}${secret}`;
      const details = { kind: text, [text]: text };
      const cut = toBoundedEntry(
        event({ operation: text, user: text, client: text, subject: text, details }),
        noon,
      );
      const shown = JSON.stringify(cut);
      for (const part of [token.slice(9, 14), key.slice(4, 12)]) assert.ok(!shown.includes(part), shown);
    }
});

test('no line is longer than 32 KB, whatever is told', () => {
  const long = '\u0001'.repeat(1e5);
  const details = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${at}${long}`, long]));
  const told = event({ operation: long, user: long, client: long, subject: long, result: long, details });
  const { text } = toNextLine(chainStart, toBoundedEntry(told, noon), null);
  assert.ok(text.length > 20_000 && text.length < 32_768, `${text.length}`);
});

test('nobody but the log itself writes lines about the log', () => {
  assert.equal(toBoundedEntry(event({ operation: 'audit.opened' }), noon).operation, 'audit:opened');
});

test('an event that is noted again gives the line that it would give alone, at its own time', () => {
  const hostile = event({
    subject: 'a\u2028b"\\\u0000 wck_' + 'aB3'.repeat(20),
    details: { n: 1, none: null },
  });
  for (const time of [noon, noon + 1]) {
    const again = toNextLine(chainStart, toRepeatedEntry(hostile, time), null);
    assert.deepEqual(again, toNextLine(chainStart, toBoundedEntry(hostile, time), null));
    assert.equal(JSON.parse(again.text).time, new Date(time).toISOString());
  }
});
