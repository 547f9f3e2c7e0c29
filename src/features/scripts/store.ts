/**
 * The rows of scripts. One UPDATE decides the number of a version and each quota, so that any number of servers agree.
 * What may be saved and run is decided in `scripts.ts` and `tools.ts`.
 */
import type { Queries, Row } from '../../ports/database/database.ts';
import type { Language } from '../../ports/sandbox/sandbox.ts';
import { maxVersions, tooManyScriptsError, tooManyVersionsError, type ScriptQuota } from './quota.ts';

/** One version, without its code. */
export interface ScriptVersion {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  readonly language: Language;
  readonly codeBytes: number;
  readonly tags: readonly string[];
  readonly packages: readonly string[];
  readonly sourceExecution: string | null;
  readonly createdAt: number;
  /** Of this version. */
  readonly runs: number;
}

/** The script that a version belongs to. */
export interface ScriptRecord {
  readonly latest: number;
  readonly versions: number;
  /** Of all versions. */
  readonly runs: number;
  readonly lastRun: LastRun | null;
}

export interface LastRun {
  readonly executionId: string;
  readonly version: number;
  readonly at: number;
  /** `running` until its end is known. */
  readonly outcome: string;
}

export interface FoundScript extends ScriptVersion {
  readonly script: ScriptRecord;
}

export type NewVersion = Omit<ScriptVersion, 'version' | 'runs'> & {
  readonly code: string;
  readonly haystack: string;
};

/** Saves the next version and gives its number; rejects, with nothing saved, where there is too much. */
export async function insertVersion(
  tx: Queries,
  owner: string,
  saved: NewVersion,
  quota: ScriptQuota,
): Promise<number> {
  const { name, codeBytes } = saved;
  const added = await tx.query(
    `INSERT INTO scripts (owner, name, latest, highest, versions) VALUES (?, ?, 0, 0, 0)
     ON CONFLICT DO NOTHING RETURNING name`,
    owner,
    name,
  );
  const [numbered] = await tx.query<{ latest: number }>(
    `UPDATE scripts SET highest = highest + 1, latest = highest + 1, versions = versions + 1
     WHERE owner = ? AND name = ? AND versions < ${maxVersions} RETURNING latest`,
    owner,
    name,
  );
  if (numbered === undefined) throw tooManyVersionsError(name);
  if (!(await chargeUsage(tx, owner, { scripts: added.length, bytes: codeBytes }, quota)))
    throw tooManyScriptsError(quota);
  await insertVersionRow(tx, owner, saved, numbered.latest);
  return numbered.latest;
}

async function chargeUsage(
  tx: Queries,
  owner: string,
  { scripts, bytes }: ScriptQuota,
  quota: ScriptQuota,
): Promise<boolean> {
  await tx.query(
    'INSERT INTO script_usage (owner, scripts, bytes) VALUES (?, 0, 0) ON CONFLICT DO NOTHING',
    owner,
  );
  const charged = await tx.query(
    `UPDATE script_usage SET scripts = scripts + ?, bytes = bytes + ?
     WHERE owner = ? AND scripts + ? <= ? AND bytes + ? <= ? RETURNING owner`,
    scripts,
    bytes,
    owner,
    scripts,
    quota.scripts,
    bytes,
    quota.bytes,
  );
  return charged.length > 0;
}

async function insertVersionRow(
  tx: Queries,
  owner: string,
  saved: NewVersion,
  version: number,
): Promise<void> {
  await tx.query(
    `INSERT INTO script_versions (owner, name, version, description, language, code, code_bytes, tags, packages, source_execution, created_at, haystack)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    owner,
    saved.name,
    version,
    saved.description,
    saved.language,
    saved.code,
    saved.codeBytes,
    JSON.stringify(saved.tags),
    JSON.stringify(saved.packages),
    saved.sourceExecution,
    saved.createdAt,
    saved.haystack,
  );
}

const foundColumns = `v.name, v.version, v.description, v.language, v.code_bytes, v.tags, v.packages, v.source_execution, v.created_at, v.runs,
  s.latest, s.versions, s.runs AS all_runs, s.last_run_at, s.last_run_version, s.last_execution, s.last_outcome`;
const joined = 'scripts s JOIN script_versions v ON v.owner = s.owner AND v.name = s.name';

function foundFromRow(row: Row): FoundScript {
  const text = (column: string): string => row[column] as string;
  const number = (column: string): number => row[column] as number;
  const list = (column: string): string[] => JSON.parse(text(column)) as string[];
  return {
    name: text('name'),
    version: number('version'),
    description: text('description'),
    language: text('language') as Language,
    codeBytes: number('code_bytes'),
    tags: list('tags'),
    packages: list('packages'),
    sourceExecution: row['source_execution'] as string | null,
    createdAt: number('created_at'),
    runs: number('runs'),
    script: {
      latest: number('latest'),
      versions: number('versions'),
      runs: number('all_runs'),
      lastRun:
        row['last_execution'] === null
          ? null
          : {
              executionId: text('last_execution'),
              version: number('last_run_version'),
              at: number('last_run_at'),
              outcome: text('last_outcome'),
            },
    },
  };
}

/** One version with its code, the latest where none is named; null where there is none. */
export async function findVersion(
  queries: Queries,
  owner: string,
  name: string,
  version: number | null,
): Promise<(FoundScript & { readonly code: string }) | null> {
  const wanted = version === null ? [] : [version];
  const [row] = await queries.query(
    `SELECT ${foundColumns}, v.code FROM ${joined}
     WHERE s.owner = ? AND s.name = ? AND v.version = ${version === null ? 's.latest' : '?'}`,
    owner,
    name,
    ...wanted,
  );
  return row === undefined ? null : { ...foundFromRow(row), code: row['code'] as string };
}

/** The numbers of all versions of a script, in order. */
export async function listVersionNumbers(queries: Queries, owner: string, name: string): Promise<number[]> {
  const rows = await queries.query<{ version: number }>(
    'SELECT version FROM script_versions WHERE owner = ? AND name = ? ORDER BY version',
    owner,
    name,
  );
  return rows.map(({ version }) => version);
}

/** What a search looks for in the latest version of each script. */
export interface ScriptConditions {
  /** In lower case. */
  readonly text: string | null;
  readonly language: Language | null;
  readonly tag: string | null;
}

export interface ScriptWindow {
  readonly found: readonly FoundScript[];
  /** The last name that was looked at; null where there are no more. */
  readonly last: string | null;
}

/** Looks at the next scripts in the order of their names. Not by LIKE, which takes as many steps as text times pattern. */
export async function readScriptWindow(
  queries: Queries,
  owner: string,
  { text, language, tag }: ScriptConditions,
  { after, rows: most }: { readonly after: string | null; readonly rows: number },
): Promise<ScriptWindow> {
  const wanted = [
    ...(text === null ? [] : [["REPLACE(v.haystack, ?, '') <> v.haystack", text]]),
    ...(language === null ? [] : [['v.language = ?', language]]),
  ] as [string, string][];
  const rows = await queries.query(
    `SELECT ${foundColumns}, CASE WHEN ${['1 = 1', ...wanted.map(([sql]) => sql)].join(' AND ')} THEN 1 ELSE 0 END AS hit
     FROM ${joined} AND v.version = s.latest
     WHERE s.owner = ?${after === null ? '' : ' AND s.name > ?'} ORDER BY s.name LIMIT ${most}`,
    ...wanted.map(([, value]) => value),
    owner,
    ...(after === null ? [] : [after]),
  );
  const hits = rows.filter((row) => row['hit'] === 1).map(foundFromRow);
  return {
    found: tag === null ? hits : hits.filter(({ tags }) => tags.includes(tag)),
    last: rows.length < most ? null : (rows.at(-1)!['name'] as string),
  };
}

/** Deletes one version, or all; gives their numbers, and those that are left. None is given again while there are others. */
export async function deleteVersions(
  tx: Queries,
  owner: string,
  name: string,
  version: number | null,
): Promise<{ deleted: number[]; left: number[] }> {
  // First, so that versions that are being saved wait, or are found.
  await tx.query('UPDATE scripts SET versions = versions WHERE owner = ? AND name = ?', owner, name);
  const gone = await tx.query<{ version: number; code_bytes: number }>(
    `DELETE FROM script_versions WHERE owner = ? AND name = ?${version === null ? '' : ' AND version = ?'}
     RETURNING version, code_bytes`,
    owner,
    name,
    ...(version === null ? [] : [version]),
  );
  const left = await listVersionNumbers(tx, owner, name);
  const deleted = gone.map((row) => row.version).toSorted((a, b) => a - b);
  if (deleted.length === 0) return { deleted, left };
  if (left.length === 0) await tx.query('DELETE FROM scripts WHERE owner = ? AND name = ?', owner, name);
  else
    await tx.query(
      'UPDATE scripts SET versions = ?, latest = ? WHERE owner = ? AND name = ?',
      left.length,
      left.at(-1)!,
      owner,
      name,
    );
  const bytes = gone.reduce((sum, { code_bytes }) => sum + code_bytes, 0);
  await tx.query(
    'UPDATE script_usage SET scripts = scripts - ?, bytes = bytes - ? WHERE owner = ?',
    left.length === 0 ? 1 : 0,
    bytes,
    owner,
  );
  return { deleted, left };
}

/** Forgets everything of a user who is removed, and gives the number of scripts. */
export async function deleteOfOwner(tx: Queries, owner: string): Promise<number> {
  await tx.query('DELETE FROM script_versions WHERE owner = ?', owner);
  await tx.query('DELETE FROM script_usage WHERE owner = ?', owner);
  return (await tx.query('DELETE FROM scripts WHERE owner = ? RETURNING name', owner)).length;
}

/** Counts a run that has begun. */
export async function countRun(
  queries: Queries,
  owner: string,
  { name, version }: Pick<ScriptVersion, 'name' | 'version'>,
  run: { readonly id: string; readonly startedAt: number },
): Promise<void> {
  await queries.query(
    `UPDATE scripts SET runs = runs + 1, last_run_at = ?, last_run_version = ?, last_execution = ?, last_outcome = 'running'
     WHERE owner = ? AND name = ?`,
    run.startedAt,
    version,
    run.id,
    owner,
    name,
  );
  await queries.query(
    'UPDATE script_versions SET runs = runs + 1 WHERE owner = ? AND name = ? AND version = ?',
    owner,
    name,
    version,
  );
}

/** Says how the last run of a script ended; one that is not the last any more changes nothing. */
export async function updateOutcome(
  queries: Queries,
  owner: string,
  name: string,
  run: { readonly id: string; readonly outcome: string },
): Promise<void> {
  await queries.query(
    'UPDATE scripts SET last_outcome = ? WHERE owner = ? AND name = ? AND last_execution = ?',
    run.outcome,
    owner,
    name,
    run.id,
  );
}
