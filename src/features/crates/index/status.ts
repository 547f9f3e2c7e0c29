/** What `index_status` tells. */
import type { Database } from '../../../ports/database/database.ts';
import type { Meaning } from './ranking.ts';
import { limitToSources } from './rows.ts';

export interface StatusRequest {
  /** Of the broken crates that are listed. */
  readonly limit: number;
  readonly offset: number;
}

/** As `index_status` tells it. */
export interface IndexStatus {
  readonly crates: number;
  readonly broken: number;
  readonly sources: SourceStatus[];
  readonly broken_crates: { crate_id: string; resource_locator: string; code: string; reason: string }[];
  readonly syncing: boolean;
  readonly semantic: { provider: string; version: string | null; documents: number; stale: boolean };
}

interface SourceStatus {
  readonly source: string;
  readonly state: string;
  readonly reason: string | null;
  readonly synced_at: string | null;
  readonly crates: number;
  readonly broken: number;
}

const seen = '(owner IS NULL OR owner = ?)';

interface Told {
  readonly database: Database;
  readonly meaning: Meaning | null;
  /** Nothing is told of others; null for all. */
  readonly sources: ReadonlySet<string> | null;
}

export async function readIndexStatus(
  { database, meaning, sources: named }: Told,
  viewer: string,
  { limit, offset }: StatusRequest,
  now: number,
): Promise<IndexStatus> {
  const syncing = await isSyncing(database, now);
  const from = limitToSources(named);
  const known = await sourcesOf(database, viewer);
  const sources = known
    .filter(({ source }) => named?.has(source) !== false)
    .map((one) => (one.state === 'syncing' && !syncing ? { ...one, state: 'interrupted' } : one));
  const broken = await database.query<IndexStatus['broken_crates'][number]>(
    `SELECT crate_id, locator AS resource_locator, code, reason FROM crates
     WHERE state = 'broken' AND ${seen} ${from.sql} ORDER BY crate_id LIMIT ? OFFSET ?`,
    viewer,
    ...from.values,
    limit,
    offset,
  );
  const semantic = (await meaning?.status()) ?? {
    provider: 'off',
    version: null,
    documents: 0,
    isStale: false,
  };
  return {
    crates: sumOf(sources.map(({ crates }) => crates)),
    broken: sumOf(sources.map((source) => source.broken)),
    sources,
    broken_crates: broken,
    syncing,
    semantic: {
      provider: semantic.provider,
      version: semantic.version,
      documents: semantic.documents,
      stale: semantic.isStale,
    },
  };
}

/** By the lease, which a process that has died loses; what it noted of a source it cannot take back. */
async function isSyncing(database: Database, now: number): Promise<boolean> {
  const held = await database.query("SELECT name FROM crate_leases WHERE name = 'sync' AND until > ?", now);
  return held.length > 0;
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

async function sourcesOf(database: Database, viewer: string): Promise<SourceStatus[]> {
  const noted = await database.query<{
    source: string;
    state: string;
    reason: string | null;
    ended_at: number | null;
  }>('SELECT source, state, reason, ended_at FROM crate_sources');
  const counts = await database.query<{ source: string; state: 'ok' | 'broken'; n: number }>(
    `SELECT source, state, CAST(COUNT(*) AS BIGINT) AS n FROM crates WHERE ${seen} GROUP BY source, state`,
    viewer,
  );
  const countOf = (source: string, state: string): number =>
    counts.find((row) => row.source === source && row.state === state)?.n ?? 0;
  const names = new Set([...noted, ...counts].map(({ source }) => source));
  return [...names].toSorted().map((source) => {
    const row = noted.find((each) => each.source === source);
    return {
      source,
      state: row?.state ?? 'ok',
      reason: row?.reason ?? null,
      synced_at: row?.ended_at === null || row === undefined ? null : new Date(row.ended_at).toISOString(),
      crates: countOf(source, 'ok'),
      broken: countOf(source, 'broken'),
    };
  });
}
