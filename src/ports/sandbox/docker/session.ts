/**
 * A session in a container of its own. The engine gives only two outputs, and none that would say when it has passed on
 * all of them: so the router inside relays the output of cells as reports, and its stdout carries nothing else.
 */
import type { RunEnd, StopReason } from '../sandbox.ts';
import { createHandover } from '../sessions/cell-output.ts';
import type { SessionProcess } from '../sessions/session.ts';
import type { Container, DockerOptions } from './container.ts';
import { findSilentEndReason, removeContainer, toReportedEnd } from './run.ts';
import type { Engine } from './engine.ts';

export interface ContainerSession {
  readonly router: SessionProcess;
  /** Once the container is gone. */
  readonly over: Promise<void>;
}

/** Output is relayed as reports, so there may be more until these were read to their end, after that of the container. */
async function* endOutputsAfter(
  reports: AsyncIterable<Uint8Array>,
  outputs: readonly { end(): void }[],
): AsyncGenerator<Uint8Array> {
  try {
    yield* reports;
  } finally {
    for (const output of outputs) output.end();
  }
}

export function startContainerSession(
  engine: Engine,
  container: Container,
  workingDir: string,
  { log }: Pick<DockerOptions, 'log'>,
): ContainerSession {
  const began = performance.now();
  const { stdout, stderr, report, reports, release, send } = container.beginSession(workingDir);
  // Nothing but complaints of the router itself, and what it would report of a run.
  for (const unused of [stderr, reports]) unused.resume();
  const outputs = { stdout: createHandover(), stderr: createHandover() };
  const killed = Promise.withResolvers<null>();
  let stopped: StopReason | null = null;
  const kill = (reason: StopReason): void => {
    if (stopped !== null) return;
    stopped = reason;
    release();
    const ended = container.kill().catch((error: unknown) => log.warn('sandbox.kill_failed', { error }));
    void ended.finally(() => killed.resolve(null));
  };
  const finish = async (): Promise<RunEnd> => {
    const said = await Promise.race([report, killed.promise]);
    const durationMs = performance.now() - began;
    if (said !== null) return { ...toReportedEnd(said, stopped), durationMs };
    const reason = stopped ?? (await findSilentEndReason(engine, container));
    return { reason, exitCode: null, signal: reason === 'lost' ? null : 'SIGKILL', durationMs };
  };
  const ended = finish();
  return {
    router: {
      stdout: outputs.stdout.chunks,
      stderr: outputs.stderr.chunks,
      reports: endOutputsAfter(stdout, Object.values(outputs)),
      ended,
      send,
      setNetwork(network) {
        if (container.pass !== null) container.pass.network = network;
      },
      kill,
      takeOutput: (stream, bytes) => outputs[stream].offer(bytes),
      // The router tells it.
      findLimitReason: async () => null,
    },
    over: removeContainer(container, ended, log),
  };
}
