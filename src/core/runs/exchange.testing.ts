import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** renameat2(2) with RENAME_EXCHANGE: at no moment is there nothing under either name. */
const attack = `
import ctypes, os, sys
rename = ctypes.CDLL(None, use_errno=True).renameat2
one, other = (os.fsencode(path) for path in sys.argv[1:3])
os.set_blocking(0, False)
print('exchanging', flush=True)
while True:
    for _ in range(1000):
        if rename(-100, one, -100, other, 2) != 0: sys.exit(os.strerror(ctypes.get_errno()))
    try:
        if os.read(0, 1) == b'': break
    except BlockingIOError: pass
`;

export const noExchange = process.platform !== 'linux' && 'only Linux exchanges two names at once';

/** A second process that keeps exchanging two things for one another. */
export async function exchanging(one: string, other: string): Promise<AsyncDisposable> {
  const attacker = spawn('python3', ['-c', attack, one, other], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(attacker, 'exit');
  await Promise.race([once(attacker.stdout, 'data'), ended]);
  return {
    async [Symbol.asyncDispose]() {
      attacker.stdin.end();
      const [code] = await ended;
      if (code !== 0) throw new Error(`the attacker ended with ${String(code)} before the end`);
    },
  };
}
