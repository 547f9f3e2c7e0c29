import { PassThrough } from 'node:stream';
import { piecesOf } from './frames.ts';
import type { Report } from './supervisor.ts';
import { trailerReader } from './trailer.ts';

/** What comes out of a container that runs something. */
export interface Outputs {
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
  /** What the supervisor said, or null where the container ended without a word. */
  readonly report: Promise<Report | null>;
  /**
   * Reads on although nobody takes it, which has to be done before a kill: the engine waits for its streams.
   * What can still come is what stands in the buffers of the engine, some 2 MB.
   */
  release(): void;
}

/** Reads the engine's stream. While an output is full it is not read, so the run waits. */
export function outputsOf(stream: AsyncIterable<Uint8Array>, mark: Buffer): Outputs {
  const outputs = [new PassThrough(), new PassThrough()] as const;
  const readers = [trailerReader(mark), trailerReader(mark)] as const;
  let released = false;
  let wake = () => {};

  const spread = async (): Promise<void> => {
    for await (const { output, bytes } of piecesOf(stream)) {
      const index = output === 1 ? 0 : 1;
      const isFull = !give(outputs[index], readers[index].take(bytes));
      if (isFull && !released) await roomIn(outputs[index], (resume) => void (wake = resume));
      if (readers.every(({ said }) => said !== null)) return;
    }
  };
  const reported = async (): Promise<Report | null> => {
    try {
      await spread();
    } catch {
      // A connection that breaks is a container that is lost, which the missing report says.
    }
    for (const [index, output] of outputs.entries()) output.end(readers[index]!.rest());
    const { said } = readers[1];
    return said === null ? null : (JSON.parse(said) as Report);
  };
  return {
    stdout: outputs[0],
    stderr: outputs[1],
    report: reported(),
    release() {
      released = true;
      wake();
    },
  };
}

/** False where it is full. Whoever has let go of an output does not hold up the other. */
function give(output: PassThrough, bytes: Buffer): boolean {
  return bytes.length === 0 || output.destroyed || output.write(bytes);
}

async function roomIn(output: PassThrough, waking: (resume: () => void) => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waking(resolve);
  output.once('drain', resolve).once('close', resolve);
  await promise;
  output.off('drain', resolve).off('close', resolve);
}
