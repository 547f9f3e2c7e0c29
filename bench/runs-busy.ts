import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Ends by itself after half an hour, or when its input does, which is when this process is gone. */
const spin = `
  const end = Date.now() + 1_800_000;
  process.stdin.on('end', () => process.exit()).resume();
  const turn = () => {
    const until = Date.now() + 50;
    while (Date.now() < until);
    if (Date.now() < end) setImmediate(turn); else process.exit();
  };
  turn();`;

export const conditions = ['quiet', 'one core busy'] as const;
export type Condition = (typeof conditions)[number];

/** A process beside the others that keeps one core busy, where that is wanted, for as long as its scope. */
export function machine(condition: Condition): AsyncDisposable {
  if (condition === 'quiet') return { [Symbol.asyncDispose]: async () => {} };
  const child = spawn(process.execPath, ['-e', spin], { stdio: ['pipe', 'ignore', 'inherit'] });
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
