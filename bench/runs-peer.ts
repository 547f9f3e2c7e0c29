import { startProgram } from './program.ts';
import type { Way } from './runs-samples.ts';
import { connect, python } from './runs-ways.ts';

/** Another way to run a line of Python, and what it keeps from the rest of the machine. */
export interface Peer {
  readonly name: string;
  readonly walls: string;
  /** A text says why it cannot be had here. */
  readonly way: Way | string;
}

/** After every run: enough for a pool to be full again. */
export const pauseMs = 100;

/** One that does not work here is left out, with what it said. */
export async function tryOnce(peer: Peer): Promise<Peer> {
  if (typeof peer.way === 'string') return peer;
  try {
    await peer.way.run();
    return peer;
  } catch (error) {
    return { ...peer, way: whyOf(error) };
  }
}

export const whyOf = (error: unknown): string => String(error).split('\n', 1)[0]!.slice(0, 300);

/** The whole program on one of its backends, called over MCP. */
export async function workcratePeer(
  name: string,
  data: string,
  flags: readonly string[],
  started: AsyncDisposableStack,
  pauseMs: number,
): Promise<Peer> {
  try {
    const program = started.use(await startProgram({ data, flags }));
    const caller = started.use(await connect(program.url));
    const { language, code } = python;
    const { unenforced } = await caller.call('execute_code', { language, code });
    const way = { run: () => caller.run(python), pauseMs };
    return { name, walls: wallsOf(unenforced as string[]), way };
  } catch (error) {
    return { name, walls: '', way: whyOf(error) };
  }
}

function wallsOf(unenforced: readonly string[]): string {
  const all =
    'never root, files, network, processes, syscalls, environment; memory, processes, cores, disk; fresh for every run';
  return unenforced.length === 0 ? all : `${all}; but not: ${unenforced.join(', ')}`;
}
