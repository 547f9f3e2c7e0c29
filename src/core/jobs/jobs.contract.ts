/**
 * What holds for every kind of jobs, proven with processes of their own whose clocks are five minutes apart: killed,
 * stopped and woken. SQLite is used as if it were shared, which it is between a server and commands beside it.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Backend } from '../../ports/database/backend.testing.ts';
import { openBackend } from '../../ports/database/open.ts';
import type { HolderCommand, HolderEvent, HolderTerms } from './holder.testing.ts';
import { createJobs } from './jobs.ts';

const minute = 60_000;
/** Long enough for a holder on a busy machine to give a sign of life. */
const silentMs = 4000;
const skews = [5 * minute, -5 * minute, 0, 150_000];

const program = join(import.meta.dirname, 'holder.testing.ts');

interface Holder {
  readonly events: readonly HolderEvent[];
  say(command: HolderCommand): void;
  /** Says it, and waits until it is done. */
  ask(command: HolderCommand): Promise<void>;
  waitFor(was: HolderEvent['was'], id?: string): Promise<HolderEvent>;
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
}

const found = (events: readonly HolderEvent[], was: HolderEvent['was'], id?: string) =>
  events.find((event) => event.was === was && (id === undefined || event.id === id));

function startHolder(t: TestContext, terms: HolderTerms): Holder {
  const child = spawn(process.execPath, [program, JSON.stringify(terms)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const events: HolderEvent[] = [];
  createInterface(child.stdout).on('line', (line) => events.push(JSON.parse(line) as HolderEvent));
  const until = async (isThere: () => unknown): Promise<void> => {
    while (!isThere()) await pause(10);
  };
  const say = (command: HolderCommand): void => void child.stdin.write(`${JSON.stringify(command)}\n`);
  const countDone = (): number => events.filter(({ was }) => was === 'done').length;
  return {
    events,
    say,
    async ask(command) {
      const before = countDone();
      say(command);
      await until(() => countDone() > before);
    },
    async waitFor(was, id) {
      await until(() => found(events, was, id));
      return found(events, was, id)!;
    },
    signal: (name) => void child.kill(name),
  };
}

async function openBench(t: TestContext, backend: Backend) {
  const location = await backend.newLocation(t);
  const database = await openBackend(location);
  t.after(() => database.close());
  await database.query(
    `CREATE TABLE contract_jobs (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, server TEXT NOT NULL,
       epoch BIGINT NOT NULL, seen_at BIGINT, cancel_by TEXT, letter TEXT, ended TEXT)`,
  );
  const start = (count: number): Promise<Holder[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, at) => {
        const skewMs = skews[at % skews.length]!;
        const holder = startHolder(t, { location, server: `s${at}`, skewMs, silentMs, lookMs: 100 });
        await holder.waitFor('ready');
        return holder;
      }),
    );
  const readEnd = async (id: string): Promise<unknown> =>
    (await database.query('SELECT ended FROM contract_jobs WHERE id = ?', id))[0]?.['ended'];
  return { database, start, readEnd };
}

export function jobsContract(backend: Backend): void {
  // Most of the time passes in silence.
  describe(backend.name, { skip: backend.skip ?? false, concurrency: 4 }, () => declareContract(backend));
}

function declareContract(backend: Backend): void {
  it('a holder whose clock is wrong by minutes is alive to the others', async (t) => {
    const { start, readEnd } = await openBench(t, backend);
    const holders = await start(3);
    await Promise.all(holders.map((holder, at) => holder.ask({ do: 'begin', id: `job ${at}` })));
    await pause(silentMs + 500);
    for (const holder of holders) await holder.ask({ do: 'claim' });
    for (const [at, holder] of holders.entries()) {
      assert.equal(found(holder.events, 'claimed'), undefined);
      await holder.ask({ do: 'end', id: `job ${at}` });
      assert.equal(await readEnd(`job ${at}`), `by s${at}`);
    }
  });

  it('what a killed holder had is lost, and one of all who look tells it', async (t) => {
    const { start, readEnd } = await openBench(t, backend);
    const [first, ...others] = await start(4);
    await first!.ask({ do: 'begin', id: 'a' });
    await first!.ask({ do: 'begin', id: 'b' });
    first!.signal('SIGKILL');
    await pause(silentMs / 2);
    for (const other of others) await other.ask({ do: 'claim' });
    assert.equal(await readEnd('a'), null, 'it may still be alive');
    await pause(silentMs);
    await Promise.all(others.map((other) => other.ask({ do: 'claim' })));
    const claimed = others.flatMap(({ events }) => events.filter(({ was }) => was === 'claimed'));
    assert.deepEqual(new Set(claimed.map(({ id }) => id)), new Set(['a', 'b']));
    assert.equal(claimed.length, 2);
    assert.equal(await readEnd('a'), 'lost');
  });

  it('a holder that slept and was given up is told so, and what it writes is refused', async (t) => {
    const { start, readEnd } = await openBench(t, backend);
    const [first, second] = await start(2);
    await first!.ask({ do: 'begin', id: 'a' });
    first!.signal('SIGSTOP');
    // Before it can look.
    first!.say({ do: 'end', id: 'a' });
    await pause(silentMs + 500);
    await second!.ask({ do: 'claim' });
    await second!.waitFor('ended', 'a');
    first!.signal('SIGCONT');
    await first!.waitFor('refused', 'a');
    assert.equal(await readEnd('a'), 'lost');
    await first!.ask({ do: 'begin', id: 'b' });
    first!.signal('SIGSTOP');
    await pause(silentMs + 500);
    await second!.ask({ do: 'claim' });
    first!.signal('SIGCONT');
    await first!.waitFor('lost', 'b');
    await first!.ask({ do: 'end', id: 'b' });
    assert.equal(await readEnd('b'), 'lost');
  });

  it('one that woke before anybody looked goes on, and hears that it was cancelled', async (t) => {
    const { database, start, readEnd } = await openBench(t, backend);
    const [first, second] = await start(2);
    await first!.ask({ do: 'begin', id: 'a' });
    first!.signal('SIGSTOP');
    await second!.ask({ do: 'cancel', id: 'a' });
    await database.query("UPDATE contract_jobs SET letter = 'hello'");
    await pause(silentMs + 500);
    first!.signal('SIGCONT');
    assert.equal((await first!.waitFor('cancelled', 'a')).by, 's1');
    assert.equal((await first!.waitFor('letter', 'a')).by, 'hello');
    await second!.ask({ do: 'claim' });
    assert.equal(found(second!.events, 'claimed'), undefined);
    await first!.ask({ do: 'end', id: 'a' });
    assert.equal(await readEnd('a'), 'by s0');
    await second!.ask({ do: 'cancel', id: 'a' });
  });

  it('an end that the database did not take is written later, and is lost to nobody until then', async (t) => {
    const { start, readEnd } = await openBench(t, backend);
    const [first] = await start(1);
    await first!.ask({ do: 'begin', id: 'a' });
    await first!.ask({ do: 'fail' });
    await first!.ask({ do: 'end', id: 'a' });
    assert.ok(found(first!.events, 'kept', 'a'));
    await first!.ask({ do: 'mend' });
    await first!.ask({ do: 'claim' });
    assert.equal(found(first!.events, 'claimed'), undefined, 'it knows how that ended');
    await first!.waitFor('ended', 'a');
    assert.equal(await readEnd('a'), 'by s0');
  });

  it('whatever happens to holders, each job ends once, and its holder or its finder knows how', async (t) => {
    const { database, start } = await openBench(t, backend);
    const holders = await start(4);
    const random = createRandom(20_261_119);
    const choose = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
    const ids: string[] = [];
    for (let round = 0; round < 40; round++) {
      const at = Math.floor(random() * holders.length);
      const id = `job ${at} ${round}`;
      const own = ids.filter((one) => one.startsWith(`job ${at} `));
      const steps: (() => void)[] = [
        () => {
          ids.push(id);
          holders[at]!.say({ do: 'begin', id });
        },
        () => own.length > 0 && holders[at]!.say({ do: 'end', id: choose(own) }),
        () => holders[at]!.say({ do: 'claim' }),
        () => ids.length > 0 && holders[at]!.say({ do: 'cancel', id: choose(ids) }),
        () => holders[at]!.signal('SIGSTOP'),
        () => holders[at]!.signal('SIGCONT'),
      ];
      choose(steps)();
      await pause(200 + 500 * random());
    }
    holders[0]!.signal('SIGKILL');
    for (const holder of holders.slice(1)) holder.signal('SIGCONT');
    await pause(silentMs + 500);
    const left = holders.slice(1);
    await Promise.all(left.map((holder) => holder.ask({ do: 'claim' })));
    for (const [at, holder] of left.entries())
      for (const id of ids.filter((one) => one.startsWith(`job ${at + 1} `)))
        await holder.ask({ do: 'end', id });
    const rows = await database.query<{ id: string; ended: string | null }>(
      'SELECT id, ended FROM contract_jobs',
    );
    assert.ok(rows.length > 0);
    for (const { id, ended } of rows) {
      const ends = holders.flatMap(({ events }) =>
        events.filter((one) => one.was === 'ended' && one.id === id),
      );
      const claims = holders.flatMap(({ events }) =>
        events.filter((one) => one.was === 'claimed' && one.id === id),
      );
      assert.notEqual(ended, null, `${id} has its end`);
      assert.ok(ends.length <= 1, `${id} ended once`);
      if (ended === 'lost') assert.ok(claims.length >= 1, `${id}: whoever found it lost knows`);
      else assert.equal(ended, `by s${id.split(' ')[1]!}`);
    }
  });

  it('what this process does not hold is lost, and what others had if it is alone', async (t) => {
    const { database } = await openBench(t, backend);
    const alone = { ...database, isShared: false };
    const terms = {
      database: alone,
      server: 's',
      table: { name: 'contract_jobs', underWay: 'ended IS NULL' },
    };
    const jobs = createJobs({ ...terms, lookFailed: assert.ifError });
    t.after(() => jobs[Symbol.asyncDispose]());
    const insert = "INSERT INTO contract_jobs (id, owner, server, epoch) VALUES (?, 'ann', ?, 1)";
    await database.query(insert, 'mine', 's');
    await database.query(insert, 'of before', 's');
    await database.query(insert, 'of another folder', 'other');
    jobs.hold('mine', { owner: 'ann', epoch: 1, cancel: () => {} });
    const claimed: unknown[] = [];
    const set = { sql: 'ended = ?', values: ['lost'] };
    const claim = (isAlone: boolean) =>
      jobs.claimLost(async ({ id }) => void claimed.push(id), { set, isAlone });
    assert.equal(await claim(false), 1);
    assert.equal(await claim(true), 1);
    assert.deepEqual(claimed, ['of before', 'of another folder']);
    assert.equal(await claim(true), 0);
  });
}

/** The same numbers each time, so that what fails once fails again. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
