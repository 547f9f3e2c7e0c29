import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Runs the test files that its arguments name, one after the other in this process. See test-groups.ts. */
for (const file of process.argv.slice(2)) await import(pathToFileURL(resolve(file)).href);
