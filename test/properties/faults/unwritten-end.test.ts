import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { openBackend } from '../../../src/ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../../src/ports/database/postgres.testing.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { serve, temporaryFolder } from '../../behaviour/cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';

const postgres = await findPostgres();
after(() => postgres?.[Symbol.asyncDispose]());

const databases = {
  SQLite: { skip: noSandbox, location: async (data: string) => join(data, 'workcrate.db') },
  PostgreSQL: { skip: noSandbox || (postgres === null && NO_POSTGRES), location: () => postgres!.url() },
};

/** Of whole lines: the server may be writing one just now. */
const endsIn = (data: string): string[][] =>
  readdirSync(join(data, 'logs'))
    .flatMap((file) =>
      readFileSync(join(data, 'logs', file), 'utf8')
        .split('\n')
        .slice(0, -1),
    )
    .map((line) => JSON.parse(line) as { execution_id: string; end_reason: string })
    .map(({ execution_id, end_reason }) => [execution_id, end_reason]);

for (const [name, { skip, location }] of Object.entries(databases))
  it(
    `a run that ends while ${name} fails gives its result, and its end is written later`,
    { skip },
    async () => {
      await using folder = await temporaryFolder();
      const place = await location(folder.path);
      const env = {
        WORKCRATE_SANDBOX: 'bubblewrap',
        ...(name === 'PostgreSQL' && { WORKCRATE_DATABASE: place }),
      };
      await using server = await serve(['--data', folder.path], { env });
      const database = await openBackend(place);
      try {
        const rows = () => database.query('SELECT reason FROM executions');
        const running = server.call('execute_code', { language: 'bash', code: 'sleep 2; echo done' });
        await eventually(async () => (await rows()).length === 1);
        // The table is away: whatever is asked of it fails.
        await database.query('ALTER TABLE executions RENAME TO executions_away');
        const { failed, data, text } = await running;
        assert.equal(failed, false, text);
        assert.deepEqual([data.stdout, data.exit_code], ['done\n', 0]);
        assert.match(text, /this run is not recorded yet/);
        await database.query('ALTER TABLE executions_away RENAME TO executions');
        await eventually(async () => (await rows())[0]!['reason'] === 'exit');
        await eventually(() => readdirSync(folder.path).includes('logs'));
        await eventually(() => endsIn(folder.path).length > 0);
        assert.deepEqual(endsIn(folder.path), [[data.execution_id, 'exit']]);
        assert.match(server.output.stderr, /"execution\.end_not_written"/);
        const later = await server.call('execute_code', { language: 'bash', code: 'echo again' });
        assert.equal(later.data.stdout, 'again\n');
      } finally {
        await database.close();
      }
    },
  );
