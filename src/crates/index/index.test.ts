import { after } from 'node:test';
import { NO_POSTGRES, startPostgres } from '../../database/postgres.testing.ts';
import { indexContract } from './index.contract.ts';

const server = await startPostgres();
after(() => server?.stop());

indexContract({ name: 'SQLite', newLocation: async () => ':memory:' });
indexContract({
  name: 'PostgreSQL',
  newLocation: () => server!.url('index'),
  skip: server === null && NO_POSTGRES,
});
