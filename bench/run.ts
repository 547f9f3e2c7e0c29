/** Runs every bench, one after the other: `npm run bench`. What they showed is in bench/README.md. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

for (const name of [
  'downloads',
  'crowd',
  'bundle',
  'runs',
  's3',
  'auth',
  'zip',
  'metadata',
  'search',
  'quality',
  'tool-search',
  'documents',
  'documents-hostile',
  'client-cache',
  'listing',
  'client-uploads',
  'start-stdio',
  'packages',
  'libraries',
  'sessions',
  'guard',
  'gateway',
]) {
  console.log(`\n${name}`);
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, `${name}.ts`)], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
