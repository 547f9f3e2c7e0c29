import { randomBytes, randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { createWorkspaces } from '../../../src/core/workspaces/workspaces.ts';
import { send, type Member, type Team } from './team.testing.ts';

/** Something of one user's that another may come to know the name of, and the like of it that nobody has. */
export interface Reference {
  readonly what: string;
  readonly real: string;
  readonly madeUp: string;
}

export interface Belongings {
  readonly references: readonly Reference[];
  /** Words that stand in everything that the user has, and nowhere else. */
  readonly mark: string;
  /** How it all stands, to be compared. */
  look(): Promise<unknown>;
}

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

/** A token of the same shape, sign by sign: what may begin a name, or is markup, differs between letters, `-` and `_`. */
const tokenLike = (real: string): string =>
  real.replaceAll(/[a-z]|[A-Z]|\d/g, (sign) => {
    const [first, count] = sign < ':' ? ['0', 10] : sign < '[' ? ['A', 26] : ['a', 26];
    return String.fromCharCode(first.charCodeAt(0) + randomInt(count));
  });

/** Gives a user one of everything that there is. */
export async function belongingsOf(team: Team, owner: Member): Promise<Belongings> {
  const mark = `mark${hex(8)}`;
  const file = await send(owner, `${mark}.txt`, `bytes ${mark}`);
  const shared = (await owner.call('share_file', { file_id: file })).data;
  const bundled = (await owner.call('bundle_files', { file_ids: [file], filename: `${mark}.zip` })).data;
  const upload = (await owner.call('request_upload', { filename: `${mark}-to-come` })).data;
  const linkId = (await owner.call('link_status', { token: shared.token })).data.link_id as string;
  const execution = `exec_${hex(6)}`;
  const started = await leave(team, owner.name, mark, execution);
  const crate = await packOf(owner, execution, mark);
  await saveScript(owner, execution, mark);
  const look = async (): Promise<unknown> => [
    (await owner.call('list_files')).data,
    (await owner.call('list_artifacts')).data,
    (await owner.call('link_status', { token: shared.token })).data.state,
    (await owner.call('link_status', { token: bundled.token })).data.state,
    await (await fetch(upload.uploadUrl)).json(),
    (await owner.call('search_executions')).data,
    (await owner.call('search_index', { query: '' })).data,
    (await owner.call('get_crate', { crate_id: crate.id })).data,
    (await owner.call('list_scripts')).data,
    (await owner.call('get_script', { name: `script-${mark}` })).data,
  ];
  // One for all, so that it is known again also where only a part of a name is told. It sorts as the real one does,
  // since a list may go on after any name.
  const madeUp = mark.slice(0, -3) + (mark.at(-3) === '0' ? '1' : '0') + mark.slice(-2);
  // A URL ends with its token, as the real one does: else two names would be the same on one side only.
  const [linkToken, uploadToken] = [tokenLike(shared.token), tokenLike(upload.token)];
  const pair = (what: string, real: string, like: string): Reference => ({ what, real, madeUp: like });
  const references = [
    pair('file', file, `file_${hex(12)}`),
    pair('token of a link', shared.token, linkToken),
    pair('URL of a link', shared.downloadUrl, `${team.url}/files/${linkToken}`),
    pair('id of a link', linkId, hex(8)),
    pair('token of a bundle', bundled.token, tokenLike(bundled.token)),
    pair('token of an upload', upload.token, uploadToken),
    pair('URL of an upload', upload.uploadUrl, `${team.url}/uploads/${uploadToken}`),
    pair('execution', execution, `exec_${hex(6)}`),
    pair('place in a list', `${started}-${execution}`, `${started}-exec_${hex(6)}`),
    pair('artifact', `${mark}.svg`, `${madeUp}.svg`),
    pair('path of an artifact', `../../2/artifacts/${mark}.svg`, `../../2/artifacts/${madeUp}.svg`),
    pair('name of a file', `${mark}.txt`, `${madeUp}.txt`),
    pair('crate', crate.id, `crate_${hex(12)}`),
    pair('token of a crate', crate.token, tokenLike(crate.token)),
    pair('place of a crate', crate.locator, crate.locator.replaceAll(mark, madeUp)),
    pair('title of a crate', `Results of ${mark}`, `Results of ${madeUp}`),
    pair('start of a word', `${mark.slice(0, -2)}*`, `${madeUp.slice(0, -2)}*`),
    pair('field of a crate', `author:${mark}`, `author:${madeUp}`),
    pair('script', `script-${mark}`, `script-${madeUp}`),
    pair('version of a script', `script-${mark}@1`, `script-${madeUp}@1`),
    pair('words', mark, madeUp),
    pair('user', owner.name, `${owner.name.slice(0, -1)}0`),
  ];
  return { references, mark, look };
}

async function saveScript({ call }: Member, source_execution_id: string, mark: string): Promise<void> {
  const script = { name: `script-${mark}`, description: `Does ${mark}`, tags: [mark], source_execution_id };
  const { failed, text } = await call('save_script', script);
  if (failed) throw new Error(text);
}

/** Packs a run for its owner alone, and has all that can be searched brought up to date. */
async function packOf({ call }: Member, execution_id: string, mark: string) {
  const packed = await call('pack_crate', {
    execution_id,
    title: `Results of ${mark}`,
    description: `What ${mark} has found`,
    license: `https://example.org/${mark}`,
    keywords: [mark],
    authors: [{ name: `Ada ${mark}`, affiliation: `University of ${mark}` }],
  });
  if (packed.failed) throw new Error(packed.text);
  const synced = await call('sync_index');
  if (synced.failed) throw new Error(synced.text);
  const { crate_id: id, resource_locator: locator, token: right } = packed.data;
  return { id, locator, token: right } as Record<'id' | 'locator' | 'token', string>;
}

/** What a run would leave behind, put there without one: a sandbox is not on every machine. */
async function leave({ config }: Team, user: string, mark: string, execution: string): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const database = opened.adopt(await openDatabase(getDatabaseLocation(config)), (it) => it.close());
  const folder = join(config.data, 'places');
  const { artifacts } = await createWorkspaces({ database, folder, uids: null, clock: Date.now }).of(user);
  await writeFile(join(artifacts, `${mark}.svg`), `<svg>${mark}</svg>`);
  const now = Date.now();
  await database.query(
    `INSERT INTO executions (id, owner, tool, language, code, working_dir, reason, succeeded, exit_code, started_at, duration_ms, stdout, haystack, limits)
     VALUES (?, ?, 'execute_code', 'bash', ?, '/workspace', 'exit', 1, 0, ?, 5, ?, ?, ?)`,
    execution,
    user,
    `echo ${mark}`,
    now,
    mark,
    `echo ${mark}`,
    JSON.stringify({
      sandbox: 'none',
      timeoutMs: 1000,
      unenforced: ['memory', 'processes', 'cpu', 'file_size', 'network'],
    }),
  );
  return now;
}
