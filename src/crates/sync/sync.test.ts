import { after } from 'node:test';
import { NO_POSTGRES, startPostgres } from '../../database/postgres.testing.ts';
import { syncContract } from './sync.contract.ts';
import { inMemory } from './sync.testing.ts';

const server = await startPostgres();
after(() => server?.stop());

syncContract(inMemory);
syncContract({
  name: 'PostgreSQL',
  newLocation: () => server!.url('sync'),
  skip: server === null && NO_POSTGRES,
});
