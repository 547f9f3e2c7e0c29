import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ServedDownload } from '../links/download-route.ts';
import { mintLink } from '../links/link.ts';
import { isWhole, joinRanges, type Download } from '../links/links.ts';
import type { Audit, AuditEvent } from './audit.ts';
import { auditDownloads } from './transfers.ts';

function stage(size = 100_000) {
  const events: AuditEvent[] = [];
  const noting = auditDownloads({ noteSoon: (event) => void events.push(event) } as Audit);
  const link = () => mintLink({ user: 'ada' }, { fileId: 'f' }, { ttlSeconds: 60, singleUse: false }, 0).link;
  const download = { filename: 'film.mp4', size } as Download;
  const piece = (start: number, end: number, more: Partial<ServedDownload> = {}): ServedDownload => ({
    stretches: [{ start, end }],
    bytes: end - start,
    isOffloaded: false,
    failure: null,
    ...more,
  });
  return { events, noting, link, download, piece };
}

test('many small ranges of one link are one line for each span of time', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { events, noting, link, download, piece } = stage();
  const [film, other] = [link(), link()];
  for (let at = 0; at < 50_000; at += 100) noting.served(film, download, piece(at, at + 100));
  noting.served(other, download, piece(5, 6));
  assert.deepEqual(events, []);
  context.mock.timers.tick(10_000);
  const of = (found: AuditEvent[]) =>
    found.map(({ result, details }) => [result, details!['link'], details!['requests'], details!['bytes']]);
  assert.deepEqual(of(events), [
    ['partial', film.id, 500, 50_000],
    ['partial', other.id, 1, 1],
  ]);
  noting.served(film, download, piece(50_000, 50_001));
  context.mock.timers.tick(10_000);
  assert.deepEqual(of(events.slice(2)), [['partial', film.id, 1, 1]]);
});

test('a piece that is still gathered is told at the end, and a download that failed at once', () => {
  const { events, noting, link, download, piece } = stage();
  noting.served(link(), download, piece(0, 10));
  noting.served(link(), download, piece(0, 0, { stretches: [], failure: 'zip_damaged' }));
  assert.deepEqual(
    events.map(({ level, result, details }) => [level, result, details!['bytes']]),
    [['info', 'zip_damaged', null]],
  );
  noting[Symbol.dispose]();
  assert.deepEqual([events.length, events[1]!.result], [2, 'partial']);
});

test('what is gathered is bounded, in links and in stretches', () => {
  const { events, noting, link, download, piece } = stage();
  const one = link();
  for (let at = 0; at < 1000; at++) noting.served(one, download, piece(at * 2, at * 2 + 1));
  assert.ok(events.length >= 9 && events.length < 1000, `${events.length} lines`);
  const before = events.length;
  for (let count = 0; count < 1010; count++) noting.served(link(), download, piece(0, 1));
  assert.ok(events.length - before >= 10, `${events.length - before} lines`);
  noting[Symbol.dispose]();
  const told = events.reduce((sum, { details }) => sum + Number(details!['requests']), 0);
  assert.equal(told, 2010);
});

test('stretches make up the whole where every byte is in one of them', () => {
  const size = 12;
  const stretch = fc
    .tuple(fc.nat(size), fc.nat(size))
    .map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) }));
  fc.assert(
    fc.property(fc.array(stretch, { maxLength: 8 }), (stretches) => {
      const bytes = Array.from({ length: size }, (_, at) => at);
      const has = (at: number, among: typeof stretches) =>
        among.some(({ start, end }) => start <= at && at < end);
      assert.equal(
        isWhole(stretches, size),
        bytes.every((at) => has(at, stretches)),
      );
      const apart = joinRanges(stretches);
      assert.deepEqual(
        bytes.map((at) => has(at, apart)),
        bytes.map((at) => has(at, stretches)),
      );
      assert.ok(apart.every(({ start }, at) => at === 0 || start > apart[at - 1]!.end));
    }),
  );
});

test('a download that repeats is told by the same event, and one that differs in anything by its own', () => {
  const { events, noting, link, download, piece } = stage(10);
  const [one, other] = [link(), link()];
  const whole = piece(0, 10);
  noting.served(one, download, whole);
  noting.served(one, download, whole);
  noting.served(other, download, whole);
  noting.served(one, download, { ...whole, isPreview: true });
  noting.served(one, download, { ...whole, bytes: 0, isOffloaded: true });
  assert.equal(events[0], events[1]);
  const say = ({ result, details }: AuditEvent) => ({ result, ...details });
  const told = { result: 'ok', link: one.id, bytes: 10, size: 10, whole: true };
  assert.deepEqual(events.map(say), [
    told,
    told,
    { ...told, link: other.id },
    { ...told, preview: true },
    { ...told, result: 'handed_over', bytes: 0 },
  ]);
});
