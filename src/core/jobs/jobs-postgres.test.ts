import { after } from 'node:test';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { jobsContract } from './jobs.contract.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

jobsContract({
  name: 'PostgreSQL',
  newLocation: () => server!.url(),
  skip: server === null && NO_POSTGRES,
});
