import { noEngine, startEngine, type TestEngine } from '../src/ports/sandbox/docker/engine.testing.ts';
import { pauseMs, whyOf, workcratePeer, type Peer } from './runs-peer.ts';
import type { Way } from './runs-samples.ts';
import { bareRun, python } from './runs-ways.ts';

const walls = {
  exec: 'files, network, processes, syscalls, environment; root inside, shared by all runs, no limits unless set',
  run: 'files, network, processes, syscalls, environment; root inside, no limits unless set; fresh for every run',
};

/** Containers of an engine that is started for this, and workcrate on the same engine. */
export async function dockerPeers(data: string, started: AsyncDisposableStack): Promise<Peer[]> {
  const engine = await startEngine();
  if (engine === null)
    return [
      { name: 'docker exec', walls: walls.exec, way: noEngine },
      { name: 'docker run', walls: walls.run, way: noEngine },
    ];
  started.use(engine);
  return [await workcrateOn(engine, data, started), await execPeer(engine, started), runPeer(engine)];
}

const client = (engine: TestEngine, ...words: string[]): Promise<string> =>
  bareRun(['docker', '-H', `unix://${engine.socket}`, ...words]);

const way = (run: Way['run']): Way => ({ run, pauseMs });

async function execPeer(engine: TestEngine, started: AsyncDisposableStack): Promise<Peer> {
  const name = 'docker exec';
  try {
    const words = ['run', '--detach', '--rm', '--network', 'none', engine.image, 'sleep', '3600'];
    const id = (await client(engine, ...words)).trim();
    started.defer(async () => void (await client(engine, 'kill', id)));
    return { name, walls: walls.exec, way: way(() => client(engine, 'exec', id, ...python.bare)) };
  } catch (error) {
    return { name, walls: walls.exec, way: whyOf(error) };
  }
}

function runPeer(engine: TestEngine): Peer {
  const words = ['run', '--rm', '--network', 'none', engine.image, ...python.bare];
  return { name: 'docker run', walls: walls.run, way: way(() => client(engine, ...words)) };
}

/** A container takes longer than a process to be ready again. */
const refillMs = 1500;

async function workcrateOn(engine: TestEngine, data: string, started: AsyncDisposableStack): Promise<Peer> {
  const flags = ['--sandbox', 'docker', '--docker-socket', engine.socket, '--executor-image', engine.image];
  return workcratePeer('workcrate, docker', data, flags, started, refillMs);
}
