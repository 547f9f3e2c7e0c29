/**
 * Cuts the output of a session into the outputs of its cells. All cells write to the same pipe: what comes while a cell
 * runs is the cell's, what comes between cells is nobody's and is dropped.
 */

export interface CellOutput {
  /** From now on what comes is given here, until `finish`. It has to be read to its end. */
  begin(): AsyncIterable<Uint8Array>;
  /** Call it when the cell has written everything: reads what is still in the pipe, and ends the stream. */
  finish(): Promise<void>;
}

/** How often the event loop has to find the pipe empty. One turn may pass before the pipe is looked at again. */
const emptyLooks = 3;

export function splitOutput(pipe: AsyncIterable<Uint8Array>): CellOutput {
  let cell: ReturnType<typeof createHandover> | null = null;
  let chunks = 0;
  let isOver = false;
  /** Resolved while nothing is being handed on, and the pipe is listened to. */
  let listening = Promise.withResolvers<void>();

  const pump = async (): Promise<void> => {
    const reader = pipe[Symbol.asyncIterator]();
    for (;;) {
      listening.resolve();
      const next = await reader.next().catch(() => null);
      listening = Promise.withResolvers();
      if (next === null || next.done === true) break;
      chunks++;
      await cell?.offer(next.value);
    }
    isOver = true;
    listening.resolve();
    cell?.end();
  };
  void pump();

  /** What was written before the call has been handed on after it: a pipe that has bytes is read in the next turn. */
  const drain = async (): Promise<void> => {
    let [looks, seen] = [0, -1];
    while (looks < emptyLooks) {
      await listening.promise;
      if (isOver) return;
      looks = chunks === seen ? looks + 1 : 0;
      seen = chunks;
      await new Promise(setImmediate);
    }
  };

  return {
    begin() {
      cell = createHandover();
      if (isOver) cell.end();
      return cell.chunks;
    },
    async finish() {
      await drain();
      cell?.end();
      cell = null;
    },
  };
}

/** Hands chunks to one reader: `offer` resolves when the reader asks for the next one, and so is done with this one. */
export function createHandover() {
  let offered = Promise.withResolvers<Uint8Array | null>();
  let taken = Promise.withResolvers<void>();
  let isOver = false;
  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      for (let next = await offered.promise; next !== null; next = await offered.promise) {
        offered = Promise.withResolvers();
        yield next;
        taken.resolve();
      }
    } finally {
      // A reader that stops early must not stop the interpreter.
      isOver = true;
      taken.resolve();
    }
  }
  return {
    chunks: read(),
    async offer(chunk: Uint8Array): Promise<void> {
      if (isOver) return;
      taken = Promise.withResolvers();
      offered.resolve(chunk);
      await taken.promise;
    },
    end(): void {
      offered.resolve(null);
    },
  };
}
