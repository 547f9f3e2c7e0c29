/**
 * Ends what servers leave behind if this process dies without a word, as by `kill -9`: a shell that waits for the end of
 * its stdin, and then ends every process with the mark of this gateway in its environment. It is started with the first
 * server, and does nothing while this process lives.
 */
import { spawn, type ChildProcess } from 'node:child_process';

/** The variable that marks all processes of a gateway. Children of servers have it too, in whatever group they are. */
export const guardianVariable = 'MCP_GATEWAY_PROCESS';

const script = `
trap '' TERM INT HUP
cat >/dev/null
find_marked() {
  for folder in /proc/[0-9]*; do
    if grep -qa "$1" "$folder/environ" 2>/dev/null; then echo "\${folder#/proc/}"; fi
  done
}
left=$(find_marked "$1")
[ -z "$left" ] && exit 0
kill -TERM $left 2>/dev/null
sleep 2
for pass in 1 2 3; do
  left=$(find_marked "$1")
  [ -z "$left" ] && exit 0
  kill -KILL $left 2>/dev/null
done
`;

export interface Watchdog extends Disposable {
  /** Starts it where it does not run. */
  watch(): void;
}

/** Watches over all processes whose mark begins like this. */
export function createWatchdog(mark: string, path: string): Watchdog {
  let shell: ChildProcess | null = null;
  return {
    watch() {
      if (shell !== null) return;
      const started = spawn('/bin/sh', ['-c', script, 'sh', `${guardianVariable}=${mark}`], {
        // Not in our group: what is typed at our terminal must not end it first.
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore'],
        env: { PATH: path },
        cwd: '/',
      });
      const forget = (): void => void (shell === started && (shell = null));
      started.once('exit', forget).once('error', forget);
      started.stdin?.on('error', forget);
      started.unref();
      (started.stdin as unknown as { unref?(): void } | null)?.unref?.();
      shell = started;
    },
    [Symbol.dispose]() {
      shell?.stdin?.end();
    },
  };
}
