import { after } from 'node:test';
import { findPostgres, NO_POSTGRES } from '../../../ports/database/postgres.testing.ts';
import { indexContract } from './index.contract.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

indexContract({ name: 'SQLite', newLocation: async () => ':memory:' });
indexContract({
  name: 'PostgreSQL',
  newLocation: () => server!.url('index'),
  skip: server === null && NO_POSTGRES,
});
