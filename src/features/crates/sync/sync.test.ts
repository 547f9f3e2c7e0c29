import { after } from 'node:test';
import type { Backend } from '../../../ports/database/backend.testing.ts';
import { findPostgres, NO_POSTGRES } from '../../../ports/database/postgres.testing.ts';
import { syncContract } from './sync.contract.ts';
import { inMemory } from './sync.testing.ts';
import { tryingContract } from './trying.contract.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

const postgres: Backend = {
  name: 'PostgreSQL',
  newLocation: () => server!.url('sync'),
  skip: server === null && NO_POSTGRES,
};

for (const backend of [inMemory, postgres]) {
  syncContract(backend);
  tryingContract(backend);
}
