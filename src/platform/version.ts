import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One folder up from both `src/` and `dist/`. */
const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  version: string;
};

export const packageVersion = manifest.version;
