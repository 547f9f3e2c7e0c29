import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A virtual environment with packages of a test's own. Not below /tmp, which is fresh in every run. */
export function makeEnvironment(packages: Readonly<Record<string, string>>) {
  const folder = mkdtempSync('/var/tmp/workcrate-environment-');
  chmodSync(folder, 0o755);
  execFileSync('/usr/bin/python3', ['-m', 'venv', '--without-pip', folder]);
  const version = execFileSync(join(folder, 'bin/python'), [
    '-c',
    'import sys; print("%d.%d" % sys.version_info[:2])',
  ]);
  const site = join(folder, 'lib', `python${String(version).trim()}`, 'site-packages');
  for (const [name, text] of Object.entries(packages)) {
    mkdirSync(join(site, name));
    writeFileSync(join(site, name, '__init__.py'), text);
  }
  return {
    folder,
    site,
    python: join(folder, 'bin/python'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}
