import { appendFileSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector';

/**
 * Preloaded into a server, its threads and its helper processes: writes down which source files have a function that
 * was called since the last look, under the name of the walk that is under way. V8 counts the calls, so nothing is
 * parsed or changed. Converters behind walls have an environment of their own, and are not seen.
 */
const { WALK_LOG: logFile, WALK_NAME_FILE: nameFile, WALK_SOURCES: sources } = process.env;

const lookEveryMs = 50;

if (logFile !== undefined && nameFile !== undefined && sources !== undefined)
  setInterval(watchCalls(logFile, nameFile, sources), lookEveryMs).unref();

function watchCalls(log: string, nameOfWalk: string, folder: string): () => void {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return () =>
    session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error !== null) throw error;
      const called = taken.result.filter(
        ({ url, functions }) => url.startsWith(folder) && hasCall(functions),
      );
      const walk = readFileSync(nameOfWalk, 'utf8');
      const lines = called.map(({ url }) => `${walk}\t${url.slice(folder.length).split('?')[0]}\n`);
      if (lines.length > 0) appendFileSync(log, lines.join(''));
    });
}

interface Counted {
  readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
}

/** What begins with the file is the module itself, which runs when it is loaded. */
const hasCall = (functions: readonly Counted[]): boolean =>
  functions.some(({ ranges: [whole] }) => whole!.startOffset > 0 && whole!.count > 0);
