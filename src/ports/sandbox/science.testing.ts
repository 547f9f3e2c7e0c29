import { spawnSync } from 'node:child_process';

const look = `import sys; from importlib.util import find_spec
print(*[name for name in ("numpy", "pandas", "matplotlib") if find_spec(name) is None], sep=", ")`;

/** Why a test that uses numpy, pandas or matplotlib in runs cannot be run here, or false. */
export function findMissingScience(): string | false {
  const { status, stdout } = spawnSync('/usr/bin/python3', ['-c', look], { encoding: 'utf8' });
  if (status !== 0) return 'there is no /usr/bin/python3';
  return stdout.trim() !== '' && `the system's Python has no ${stdout.trim()} (apt-get)`;
}
