/** What judging a client's listing of 100,000 entries takes, and what a hostile one of a million. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createPathPolicy, type RawEntries } from '../src/features/client-files/policy/policy.ts';

const rounds = 7;
/** Milliseconds for 100,000 entries. */
const asked = 1000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const policy = createPathPolicy({ root: '/home/me/project', read: null, list: null });
const folder = policy.judge('src', 'list');

const plain = (at: number) => `src/part-${at % 100}/module-${at % 1000}/file_${at}.test.ts`;
const worded = (at: number) => `src/Übung ${at % 100}/Kapitel ${at % 1000}/Nº ${at} – 日本.md`;
const hostile = (at: number) =>
  ['../../etc/passwd', 'src/%2e%2e/x', 'src/.env', 'C:\\x', `/etc/${at}`][at % 5]!;
const ways: [string, () => RawEntries, number | null][] = [
  ['100,000 plain names', () => entriesOf(100_000, plain), asked],
  ['100,000 in words, not ASCII', () => entriesOf(100_000, worded), asked],
  ['1,000,000 plain names, cut', () => entriesOf(1_000_000, plain), asked],
  ['1,000,000 hostile ones', () => entriesOf(1_000_000, hostile), null],
];

for (const [name, entries, most] of ways) {
  const rows: Row[] = [];
  for (let round = 0; round <= (most === null ? 1 : rounds); round++) rows.push(await judged(entries()));
  // The first round only warms up.
  const { ms, megabytes, count } = rows.slice(1).sort((a, b) => a.ms - b.ms)[
    Math.floor((rows.length - 1) / 2)
  ]!;
  const mark = most === null ? '' : `  asked: at most ${most} ms; ${ms <= most ? 'held' : 'NOT held'}`;
  console.log(`  ${name.padEnd(28)} ${ms.toFixed(0)} ms, ${count} kept in ${megabytes.toFixed(0)} MB${mark}`);
  if (most !== null && ms > most) process.exitCode = 1;
}
console.log(`  peak RSS ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB`);

interface Row {
  readonly ms: number;
  /** What the listing itself takes. */
  readonly megabytes: number;
  readonly count: number;
}

async function judged(entries: RawEntries): Promise<Row> {
  collect();
  const before = process.memoryUsage().heapUsed;
  const started = performance.now();
  const listing = await policy.judgeListing(folder, entries, { recursive: true, pattern: '*' });
  const ms = performance.now() - started;
  collect();
  const megabytes = (process.memoryUsage().heapUsed - before) / 1e6;
  return { ms, megabytes, count: listing.entries.length };
}

async function* entriesOf(count: number, path: (at: number) => string) {
  for (let at = 0; at < count; at++)
    yield { path: path(at), type: 'file', size: at, mtime: 1_700_000_000_000 + at };
}
