import type { Crates, SourceReport } from '../crates/crates.ts';
import { table } from './table.ts';

type Found = Awaited<ReturnType<Crates['search']>>;
type Summary = Awaited<ReturnType<Crates['get']>>;
type Listing = Awaited<ReturnType<Crates['inside']['list']>>;
type Status = Awaited<ReturnType<Crates['status']>>;

/** Names and texts of others end up in a terminal, which acts on some characters. */
const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ');

const short = (text: string, most: number): string =>
  plain(text).length <= most ? plain(text) : `${plain(text).slice(0, most - 1)}…`;

export function foundText({ total, results, next, notes }: Found): string {
  const rows = results.map(({ crateId, title, authors, year }) => [
    crateId,
    year === null ? '' : String(year),
    short(title, 60),
    short(authors.join(', '), 40),
  ]);
  const more = next === null ? '' : `more with --offset ${next}\n`;
  const told = notes.map((note) => `note: ${plain(note)}\n`).join('');
  if (rows.length === 0) return `${told}nothing found\n`;
  return `${table([['CRATE', 'YEAR', 'TITLE', 'AUTHORS'], ...rows])}${total} found\n${more}${told}`;
}

export function summaryText(summary: Summary): string {
  const lines: [string, string][] = [
    ['title', summary.title],
    ['crate', summary.crate_id],
    ['at', summary.resource_locator],
    ['authors', summary.authors.join(', ')],
    ['published', summary.date_published ?? 'not stated'],
    ['licence', summary.license?.name ?? summary.license?.id ?? 'not stated'],
    ['keywords', summary.keywords.join(', ')],
    ['spec', summary.spec_version ?? 'not stated'],
    ['profiles', summary.profiles.join(', ')],
    ['holds', `${summary.entity_count} entities, ${summary.file_count} files`],
    [
      'types',
      summary.types
        .slice(0, 20)
        .map(({ type, count }) => `${type} ${count}`)
        .join(', '),
    ],
    ['about', summary.description],
  ];
  const shown = lines
    .filter(([, value]) => value !== '')
    .map(([what, value]) => `${`${what}:`.padEnd(11)}${short(value, 2000)}\n`);
  const issues = summary.issues.map(
    ({ code, message, count }) => `issue:     ${code} (${count}): ${plain(message)}\n`,
  );
  return [...shown, ...issues].join('');
}

export function filesText({ count, files, next, unsafe }: Listing): string {
  const rows = files.map(({ path, size, modified }) => [
    String(size),
    modified === null ? '' : new Date(modified).toISOString().slice(0, 16).replace('T', ' '),
    plain(path),
  ]);
  const more = next === null ? '' : `more with --offset ${next}\n`;
  const left =
    unsafe === 0
      ? ''
      : `${unsafe} entries are not listed, because their names lead outside the crate or cannot be read\n`;
  return `${table([['BYTES', 'MODIFIED', 'PATH'], ...rows])}${count} files\n${more}${left}`;
}

export function reportsText(reports: readonly SourceReport[]): string {
  if (reports.length === 0) return 'There are no crate sources. Set them with --crate-sources.\n';
  const rows = reports.map(({ source, state, seen, read, unchanged, broken, removed }) => [
    plain(source),
    state,
    ...[seen, read, unchanged, broken, removed].map(String),
  ]);
  const reasons = reports.flatMap(({ source, reason }) =>
    reason === null ? [] : [`${plain(source)}: ${plain(reason)}\n`],
  );
  return `${table([['SOURCE', 'STATE', 'SEEN', 'READ', 'UNCHANGED', 'BROKEN', 'REMOVED'], ...rows])}${reasons.join('')}`;
}

export function statusText(status: Status): string {
  const { sources, broken_crates: broken, semantic } = status;
  const rows = sources.map((one) => [
    plain(one.source),
    one.state,
    one.synced_at ?? 'never',
    String(one.crates),
    String(one.broken),
  ]);
  const list = broken.map(
    ({ resource_locator, code, reason }) =>
      `broken: ${plain(resource_locator)}: ${plain(reason)} (${code})\n`,
  );
  const meaning = `search by meaning: ${semantic.provider}, ${semantic.documents} crates${semantic.stale ? ', updating' : ''}\n`;
  return `${table([['SOURCE', 'STATE', 'SYNCED', 'CRATES', 'BROKEN'], ...rows])}${status.crates} crates, ${status.broken} broken\n${meaning}${list.join('')}`;
}
