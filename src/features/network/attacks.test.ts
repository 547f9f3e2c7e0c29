import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../platform/eventually.testing.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { get, smuggledMark, toPython, type AttackScene, type EgressAttack } from './attack.testing.ts';
import { egressAttacks, egressAttackThemes } from './attacks.testing.ts';
import { openWay, publicAddress, startOutside, type Outside, type Way } from './outside.testing.ts';

const rules = 'allowed.example,*.wild.example';
const limits = { headerMs: 3000, helloMs: 1500, bodyMs: 1500, connections: 32 };

const makeScene = ({ earPort }: Outside): AttackScene => ({
  allowed: 'allowed.example',
  wildcard: 'wild.example',
  other: 'other.example',
  earPort,
});

/** A server that records every header, redirects where it is told to, and never answers `/hang`. */
async function startScene(): Promise<{ outside: Outside; seen: string[] } & AsyncDisposable> {
  const outside = await startOutside();
  const seen: string[] = [];
  outside.names.set('x.wild.example', [publicAddress]);
  outside.answer = (req, res) => {
    seen.push([req.method, req.url, ...req.rawHeaders].join(' '));
    req
      .on('data', (chunk: Buffer) => seen.push(chunk.toString('latin1')))
      .on('end', () => seen.push(JSON.stringify(req.trailers)));
    if (req.url!.startsWith('/redirect?')) res.writeHead(302, { Location: req.url!.slice(10) }).end();
    else if (req.url !== '/hang') res.end('hello from outside\n');
  };
  return { outside, seen, [Symbol.asyncDispose]: () => outside[Symbol.asyncDispose]() };
}

/** Plays it over all its connections at once, and gives what was answered. */
async function play(attack: EgressAttack, scene: AttackScene, way: Way): Promise<string> {
  const sockets = await Promise.all(Array.from({ length: attack.connections ?? 1 }, () => way.connect()));
  const answers = sockets.map(listenTo);
  for (const step of attack.steps(scene)) {
    if ('pauseMs' in step) await pause(step.pauseMs);
    else if ('until' in step) await Promise.all(answers.map((one) => one.until(step.until)));
    else
      for (const socket of sockets)
        if (socket.writable)
          socket.write(typeof step.send === 'string' ? Buffer.from(step.send, 'latin1') : step.send);
  }
  if (attack.leaves !== true) await Promise.all(answers.map((one) => one.settled()));
  for (const socket of sockets) socket.destroy();
  return answers.map((one) => one.text()).join('');
}

const answerStart = /^HTTP\/1\.1 (?!200 Connection)/;

function listenTo(socket: Socket) {
  let [seen, isOver, last] = ['', socket.destroyed || socket.readableEnded, performance.now()];
  let before = 0;
  socket.on('data', (chunk: Buffer) => {
    seen += chunk.toString('latin1');
    last = performance.now();
  });
  socket.once('end', () => (isOver = true)).once('close', () => (isOver = true));
  return {
    text: () => seen,
    /** What is sent after this has an answer of its own, which may take longer than a pause on a busy machine. */
    async until(mark: string): Promise<void> {
      await eventually(() => isOver || seen.includes(mark));
      before = seen.length;
    },
    /** It was ended, or answered, and nothing more comes. */
    settled: () =>
      eventually(
        () => isOver || (answerStart.test(seen) && seen.length > before && performance.now() - last > 300),
        10,
      ),
  };
}

function setNames({ names }: Outside, attack: EgressAttack): void {
  for (const [name, answers] of Object.entries(attack.names ?? {})) {
    const [first] = answers;
    if (typeof first === 'string') names.set(name, answers as string[]);
    else {
      const left = (answers as string[][]).slice();
      names.set(name, () => (left.length > 1 ? left.shift()! : left[0]!));
    }
  }
}

it('there are at least 50 attacks, each with its own name', () => {
  assert.ok(egressAttacks.length >= 50, `${egressAttacks.length}`);
  assert.equal(new Set(egressAttacks.map(({ name }) => name)).size, egressAttacks.length);
});

const held = new Set<string>();

for (const [theme, attacks] of Object.entries(egressAttackThemes))
  describe(theme, { concurrency: 8 }, () => {
    for (const attack of attacks)
      it(attack.name, async () => {
        await using stage = await startScene();
        const { outside, seen } = stage;
        setNames(outside, attack);
        await using way = await openWay(outside, rules, { limits });
        const answer = await play(attack, makeScene(outside), way);
        assert.deepEqual(outside.listForbidden(), [], 'nobody was reached who may not be');
        assert.ok(!answer.includes('THROUGH'), answer);
        assert.ok(!seen.join('\n').toLowerCase().includes(smuggledMark), seen.join('\n'));
        assert.ok(
          outside.requests.every((line) => line.split(' ')[1]!.endsWith('.example')),
          outside.requests.join(),
        );
        const why = way.network.usage.refused.map((one) => one.why);
        assert.deepEqual([...new Set(why)], attack.refusal === null ? [] : [attack.refusal], answer);
        await eventually(() => outside.countOpen() === 0);
        // Nothing that it did stops those who come later.
        await eventually(async () =>
          (
            await way.say(get('http://allowed.example/', 'allowed.example', 'Connection: close\r\n'))
          ).includes('hello from outside'),
        );
        assert.equal(
          way.network.close().hosts.every(({ host }) => host.endsWith('.example')),
          true,
        );
        held.add(attack.name);
      });
  });

it('none of all these attacks got through', () => {
  assert.equal(held.size, egressAttacks.length);
  recordProof('D21:no-attack');
});

it('the judge sees what gets through, where the grant lets it', async () => {
  await using stage = await startScene();
  const { outside } = stage;
  const privateHosts = [{ host: '127.0.0.1', port: outside.earPort }];
  await using way = await openWay(outside, rules, { limits }, { privateHosts });
  const attack = egressAttacks.find(({ name }) => name === 'asks for loopback: 127.0.0.1')!;
  assert.match(await play(attack, makeScene(outside), way), /THROUGH/);
  assert.equal(outside.listForbidden().length, 2, 'by its address, and by the server itself');
});

it('the same attacks can be played by a program inside a sandbox', async (t) => {
  await using stage = await startScene();
  const { outside } = stage;
  await using way = await openWay(outside, rules, { limits });
  const names = ['asks for loopback: 127.0.0.1', 'names another host in TLS', 'opens 1,000 connections'];
  for (const name of names) {
    const code = toPython(
      egressAttacks.find((attack) => attack.name === name)!,
      makeScene(outside),
    );
    const env = { ...process.env, http_proxy: `http://127.0.0.1:${way.port}` };
    const child = spawn('python3', ['-c', code], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const isThere = await Promise.race([
      once(child, 'spawn').then(() => true),
      once(child, 'error').then(() => false),
    ]);
    if (!isThere) return t.skip('python3 is not installed');
    assert.match(await text(child.stdout), /TRIED\n$/);
  }
  assert.deepEqual(outside.listForbidden(), []);
  assert.deepEqual(
    way.network.usage.refused.map(({ why }) => why),
    ['ip_address', 'wrong_tls', 'too_many'],
  );
});
