import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { run, serve, temporaryFolder } from '../../behaviour/cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { connect, readState, serverArguments, type Made, type State } from './state.testing.ts';

/** Data folders of earlier commits, made by `make-data-folder.ts` with their own programs. */
const fixtures = join(import.meta.dirname, '../../../fixtures/data-folders');

interface Fixture {
  readonly madeAt: number;
  readonly made: Made;
  /** What the program that made it says of it. */
  readonly state: State;
}

const environment = { env: { WORKCRATE_SANDBOX: 'bubblewrap' } };

for (const commit of readdirSync(fixtures).filter((name) => !name.endsWith('.md')))
  describe(`a data folder of ${commit}`, { skip: noSandbox }, () => {
    it('opens, and says the same of all that is in it', async () => {
      await using folder = await temporaryFolder();
      const { made, state } = unpack(commit, folder.path);
      const data = join(folder.path, 'data');
      await using server = await serve(serverArguments(data), environment);
      const now = await readState(server.url, made);
      for (const key of Object.keys(state) as (keyof State)[])
        assert.deepEqual(hideTimes(now[key]), hideTimes(state[key]), key);
      await useWhatIsThere(server.url, made);
      assert.equal(await server.end('SIGTERM'), 0);
      const { code, stdout } = await run(['check', '--read-data', '--data', data]);
      assert.equal(code, 0, stdout);
    });
  });

async function useWhatIsThere(url: string, { keys, rights }: Made): Promise<void> {
  await using ada = await connect(url, keys.ada);
  const bytes = await (await fetch(`${url}${rights[0]}`)).text();
  assert.equal(bytes, 'a,b\n1,2\n3,4\n');
  const { stdout } = await ada.call('execute_bash', {
    command: 'cat /workspace/tree/a/b /artifacts/note.txt',
  });
  assert.equal(stdout, 'b\nfrom bash\n');
  const script = await ada.call('run_script', { name: 'double', args: { n: 21 } });
  assert.equal(script['stdout'], '42\n');
}

/** As old as when it was made: what is kept for a time only has not expired. */
function unpack(commit: string, target: string): Fixture {
  execFileSync('tar', ['-xzf', join(fixtures, commit, 'data.tar.gz'), '-C', target]);
  const fixture = JSON.parse(readFileSync(join(fixtures, commit, 'state.json'), 'utf8')) as Fixture;
  for (const file of ['workcrate.db', 'crates.db'])
    moveTimes(join(target, 'data', file), Date.now() - fixture.madeAt);
  return fixture;
}

/** Milliseconds since 1970 of this century. */
const [firstTime, lastTime] = [1_500_000_000_000, 4_000_000_000_000];

function moveTimes(file: string, by: number): void {
  using database = new DatabaseSync(file);
  const listNames = (sql: string): string[] =>
    database
      .prepare(sql)
      .all()
      .map(({ name }) => name as string);
  for (const name of listNames("SELECT name FROM sqlite_schema WHERE type = 'table'"))
    for (const column of listNames(`PRAGMA table_info("${name}")`))
      database.exec(`UPDATE "${name}" SET "${column}" = "${column}" + ${by}
        WHERE typeof("${column}") = 'integer' AND "${column}" BETWEEN ${firstTime} AND ${lastTime}`);
}

const isoTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

/** Not compared: when something happened, how long it is still kept, and what a ranking calls its scores. */
const hidden = new Set(['score', 'ttlMs']);

const hideTimes = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, field: unknown) => (hidden.has(key) ? 0 : field)).replaceAll(isoTime, 'TIME'),
  );
