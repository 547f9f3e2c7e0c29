import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const script = join(import.meta.dirname, 'system-packages.sh');
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Has the packages of these commands installed, or named, as `system-packages.sh` says. A signal ends both. */
export async function installPackages(commands: readonly string[]): Promise<void> {
  if (commands.length === 0) return;
  const child = spawn('sh', [script, 'test', ...commands], { stdio: 'inherit' });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of signals) process.on(signal, forward);
  const [code] = (await once(child, 'exit')) as [number | null];
  for (const signal of signals) process.off(signal, forward);
  // It ends with 0 whatever could not be installed: only a signal makes it end otherwise.
  if (code !== 0) process.exit(code ?? 1);
}
