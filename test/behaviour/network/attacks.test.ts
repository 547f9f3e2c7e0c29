import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEgress } from '../../../src/features/network/egress.ts';
import { smuggledMark, toPython, type EgressAttack } from '../../../src/features/network/attack.testing.ts';
import { egressAttacks } from '../../../src/features/network/attacks.testing.ts';
import { publicAddress, startOutside, type Outside } from '../../../src/features/network/outside.testing.ts';
import { parseHostRules } from '../../../src/platform/net/host-rules.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { openBench, type Bench } from '../../../src/ports/sandbox/contract/harness.contract.ts';
import { contractOptions } from '../../../src/ports/sandbox/sandbox.contract.ts';
import { findEngine, noEngine } from '../../../src/ports/sandbox/docker/engine.testing.ts';
import { dockerSandbox } from '../../../src/ports/sandbox/docker/docker.ts';
import { bubblewrapSandbox } from '../../../src/ports/sandbox/bubblewrap/bubblewrap.ts';
import { joinPlaces, testPlaces } from '../../../src/ports/sandbox/places.testing.ts';
import type { Sandbox, SandboxOptions } from '../../../src/ports/sandbox/sandbox.ts';
import { noSandbox } from '../../code.testing.ts';

const rules = parseHostRules('allowed.example,*.wild.example');
const limits = { headerMs: 1500, helloMs: 1000, bodyMs: 1000 };
const atOnce = 4;

/** Those that need a name server that lies are played on the proxy itself, which is where that is told apart. */
const fromInside = egressAttacks.filter(({ names }) => names === undefined);

const openSandboxBench = (
  open: (options: SandboxOptions) => Promise<Sandbox>,
): Promise<Bench & AsyncDisposable> =>
  openBench(
    async (options) => {
      const places = await testPlaces();
      const sandbox = await open({ ...contractOptions, ...options });
      return joinPlaces(sandbox, places);
    },
    { isProxied: true, warm: { python: atOnce, node: 0, bash: 0 } },
  );

/** Plays one as the code of a run, and gives what got through; null where nothing did. */
async function playInside(bench: Bench, attack: EgressAttack): Promise<string | null> {
  await using outside = await startOutside();
  const seen = recordRequests(outside);
  await using egress = createEgress({ ...outside.options, limits });
  const network = egress.open({ user: 'mallory', run: 'exec_000000000000', rules });
  const { earPort } = outside;
  const scene = { allowed: 'allowed.example', wildcard: 'wild.example', other: 'other.example', earPort };
  const run = await bench.run('python', toPython(attack, scene), {
    network: { accept: network.accept, environment: (url) => ({ http_proxy: url }) },
  });
  network.close();
  if (!run.out.endsWith('TRIED\n')) return `it was not tried: ${run.reason} ${run.err}`;
  const forbidden = outside.listForbidden();
  if (forbidden.length > 0) return forbidden.join();
  if (run.out.includes('THROUGH')) return run.out;
  return seen.some((text) => text.toLowerCase().includes(smuggledMark)) ? seen.join() : null;
}

function recordRequests(outside: Outside): string[] {
  const seen: string[] = [];
  outside.names.set('x.wild.example', [publicAddress]);
  outside.answer = (request, response) => {
    seen.push([request.method, request.url, ...request.rawHeaders].join(' '));
    request.on('data', (chunk: Buffer) => seen.push(chunk.toString('latin1')));
    if (request.url!.startsWith('/redirect?'))
      response.writeHead(302, { Location: request.url!.slice(10) }).end();
    else if (request.url !== '/hang') response.end('hello from outside\n');
  };
  return seen;
}

async function playAll(bench: Bench): Promise<void> {
  const through: Record<string, string> = {};
  const left = fromInside.slice();
  const playNext = async (): Promise<void> => {
    for (let attack = left.shift(); attack !== undefined; attack = left.shift()) {
      const how = await playInside(bench, attack);
      if (how !== null) through[attack.name] = how;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, playNext));
  assert.deepEqual(through, {});
}

describe('attacks on the proxy, by code in a sandbox', () => {
  it('bubblewrap: none gets through', { skip: noSandbox }, async () => {
    assert.ok(fromInside.length >= 50, `${fromInside.length}`);
    await using bench = await openSandboxBench((options) => bubblewrapSandbox({ ...options, python: null }));
    await playAll(bench);
    recordProof('D21:no-attack-from-inside');
  });

  it('docker: none gets through', async (t) => {
    await using engine = await findEngine();
    if (engine === null) return t.skip(noEngine);
    const { socket, image } = engine;
    const open = (options: SandboxOptions): Promise<Sandbox> =>
      dockerSandbox({ ...options, socket, image, runtime: null, instance: 'proxy-attacks' });
    await using bench = await openSandboxBench(open);
    await playAll(bench);
  });
});
