/**
 * What a run prints, as events. The run is followed by itself and not by its tool: a page that watches would write a line
 * of the audit log each time. A browser whose connection is lost goes on from the last event that it has.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Executions, LiveRun, OutputPieces } from '../../core/runs/executions.ts';
import { createAlarm, encodeEvent, getPaceMs, silenceMs } from './events.ts';
import type { Visitor } from './routing.ts';

type LiveExecutions = Pick<Executions, 'findLive' | 'follow' | 'get'>;

const maxEventCharacters = 16 * 1024;
/** How often the row of a run on another server is looked at. */
const lookMs = 2000;

/** Of the output so far, what a page shows when it is opened. */
export function readShownOutput({ output }: LiveRun): OutputPieces {
  const { end } = output.read(0, 0);
  return output.readPieces(end - maxEventCharacters, maxEventCharacters);
}

/** The events of one run until it ends or the browser goes away. */
export async function* streamRun(
  executions: LiveExecutions,
  { caller }: Pick<Visitor, 'caller'>,
  { id, from }: { readonly id: string; readonly from: number },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array | null, void> {
  const run = executions.findLive(caller, id);
  if (run === null) yield* followElsewhere(executions, caller, id, signal);
  else yield* followHere(executions, caller, run, from, signal);
  if (signal.aborted) return;
  yield encodeEvent({ event: 'end', data: (await executions.get(caller, id)).reason });
}

/** Costs nothing while nothing is printed. */
async function* followHere(
  executions: LiveExecutions,
  caller: Visitor['caller'],
  { id, output }: LiveRun,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array | null, void> {
  using alarm = createAlarm(signal);
  using _watching = output.watch(alarm.ring);
  let at = from;
  let lastAsked = performance.now();
  while (!signal.aborted) {
    const isOver = output.isOver();
    const { end } = output.read(0, 0);
    // A run that prints faster than a browser can show is shown in parts, its last ones.
    const part = output.readPieces(Math.max(at, end - maxEventCharacters), maxEventCharacters);
    if (part.pieces.length > 0) {
      const data = { passed: Math.max(0, part.from - at), pieces: part.pieces };
      yield encodeEvent({ event: 'output', id: part.next, data });
      at = part.next;
      await pause(getPaceMs());
      continue;
    }
    if (isOver) return;
    await alarm.wait(silenceMs);
    if (performance.now() - lastAsked < silenceMs) continue;
    // Whoever looks at a run that lost its call keeps it.
    await executions.get(caller, id);
    lastAsked = performance.now();
    yield null;
  }
}

/** Of a run on another server only the row is known, which has what was printed until some seconds before. */
async function* followElsewhere(
  executions: LiveExecutions,
  caller: Visitor['caller'],
  id: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array | null, void> {
  let shown = '';
  while (!signal.aborted) {
    const { execution } = await executions.follow(caller, id, { waitMs: lookMs, signal });
    if (execution.reason !== 'running') return;
    const { stdout, stderr } = execution;
    if (shown !== stdout + stderr)
      yield encodeEvent({
        event: 'whole',
        data: [
          { stream: 'stdout', text: stdout },
          { stream: 'stderr', text: stderr },
        ],
      });
    else yield null;
    shown = stdout + stderr;
  }
}
