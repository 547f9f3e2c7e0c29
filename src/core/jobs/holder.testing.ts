/**
 * A process that holds jobs, for the contract: told what to do by a line of JSON each on its input, it tells what became
 * of it on its output. Its clock can be wrong by minutes.
 */
import { createInterface } from 'node:readline';
import { openBackend } from '../../ports/database/open.ts';
import { createJobEnds } from './ends.ts';
import { createJobs, requestJobCancel, type JobTable } from './jobs.ts';

const contractTable: JobTable = { name: 'contract_jobs', underWay: 'ended IS NULL', mail: ['letter'] };

export interface HolderTerms {
  readonly location: string;
  readonly server: string;
  /** How wrong its clock is. */
  readonly skewMs: number;
  readonly silentMs: number;
  readonly lookMs: number;
}

export interface HolderCommand {
  readonly do: 'begin' | 'end' | 'claim' | 'cancel' | 'fail' | 'mend';
  readonly id?: string;
}

/** `ended` says whether the end was taken; the others come unasked or as an answer. */
export interface HolderEvent {
  readonly was:
    | 'ready'
    | 'begun'
    | 'ended'
    | 'refused'
    | 'kept'
    | 'claimed'
    | 'cancelled'
    | 'lost'
    | 'done'
    | 'letter';
  readonly id?: string;
  readonly by?: string;
}

const { location, server, skewMs, silentMs, lookMs } = JSON.parse(process.argv[2]!) as HolderTerms;
const now = Date.now.bind(Date);
Date.now = () => now() + skewMs;
const opened = await openBackend(location);
let fails = false;
const query = ((sql: string, ...values: never[]) =>
  fails
    ? Promise.reject(new Error('the database fails'))
    : opened.query(sql, ...values)) as typeof opened.query;
const database = { ...opened, query, isShared: true };
const tell = (event: HolderEvent): void => void process.stdout.write(`${JSON.stringify(event)}\n`);
const epochs = new Map<string, number>();

/** As every kind does: only under its epoch, and only once. */
async function writeEnd(id: string, how: string): Promise<void> {
  const rows = await database.query(
    'UPDATE contract_jobs SET ended = ? WHERE id = ? AND epoch = ? AND ended IS NULL RETURNING id',
    how,
    id,
    epochs.get(id)!,
  );
  tell({ was: rows.length > 0 ? 'ended' : 'refused', id });
}
const ends = createJobEnds<string>({
  write: writeEnd,
  told: { notWritten: (id) => tell({ was: 'kept', id }) },
});
const jobs = createJobs({
  database,
  server,
  table: contractTable,
  silentMs,
  lookMs,
  lookFailed: () => {},
  isKnown: (id) => ends.find(id) !== null,
});

const commands: Record<HolderCommand['do'], (id: string) => Promise<unknown>> = {
  async begin(id) {
    let isBegun = false;
    epochs.set(id, 1);
    jobs.hold(id, {
      owner: 'ann',
      epoch: 1,
      isBegun: () => isBegun,
      cancel: (by) => tell({ was: 'cancelled', id, by }),
      receive: ({ letter }) => letter !== null && tell({ was: 'letter', id, by: String(letter) }),
      lose: () => tell({ was: 'lost', id }),
    });
    await database.query(
      `INSERT INTO contract_jobs (id, owner, server, epoch, seen_at) VALUES (?, 'ann', ?, 1, ${database.clock})`,
      id,
      server,
    );
    isBegun = true;
    tell({ was: 'begun', id });
  },
  async end(id) {
    await ends.end(id, `by ${server}`);
    jobs.release(id);
  },
  claim: () =>
    jobs.claimLost(async ({ id, epoch }) => {
      epochs.set(id as string, epoch as number);
      tell({ was: 'claimed', id: id as string });
      await writeEnd(id as string, 'lost');
    }),
  cancel: (id) => requestJobCancel(database, contractTable, { id }, server),
  fail: async () => (fails = true),
  mend: async () => (fails = false),
};

tell({ was: 'ready' });
for await (const line of createInterface(process.stdin)) {
  const command = JSON.parse(line) as HolderCommand;
  await commands[command.do](command.id ?? '');
  tell({ was: 'done' });
}
