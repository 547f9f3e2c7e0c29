/** How many packages a user installs, and whether any runs a script: `node bench/packages.ts`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Locked {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly peer?: boolean;
  readonly hasInstallScript?: boolean;
}

const lock = JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>;
};
const runtime = Object.entries(lock.packages).filter(([path, entry]) => path !== '' && !entry.dev);
console.table({
  'runtime packages (at most 60)': runtime.length,
  'of these with an install script (none)': runtime.filter(([, entry]) => entry.hasInstallScript).length,
});
