import type { Holder, Holders } from './holders.ts';

export interface Victim {
  readonly holder: Holder;
  readonly key: string;
}

interface Leaving {
  readonly key: string;
  readonly weight: number;
  readonly usedAt: number;
}

/** A user's part while room is sought: what would be left of it, and what would leave next. */
interface Part {
  readonly holder: Holder;
  readonly leaving: Iterator<Leaving, undefined>;
  next: Leaving | undefined;
  bytes: number;
  entries: number;
}

type Incoming = ReadonlyMap<string, number>;

const idleAfter = 3_600_000;

/**
 * What has to go so that a user's files, given by key and weight, have room. Changes nothing. Null where there is none
 * for them: they are larger than the cache, or would make their user hold more than anybody else, by themselves.
 */
export function makeRoom(holders: Holders, user: string, incoming: Incoming, now: number): Victim[] | null {
  const { mostBytes, mostEntries } = holders.limits;
  const weight = sum(incoming.values());
  if (weight > mostBytes || incoming.size > mostEntries) return null;
  const own = withIncoming(holders.of(user), incoming, weight);
  let bytes = holders.all.bytes - own.holder.bytes + own.bytes;
  let entries = holders.all.entries - own.holder.entries + own.entries;
  const tooMuch = () => bytes > mostBytes || entries > mostEntries;
  if (!tooMuch()) return [];
  const victims: Victim[] = [];
  const take = (part: Part): void => {
    const { key, weight } = part.next!;
    victims.push({ holder: part.holder, key });
    bytes -= weight;
    entries--;
    takeNext(part);
  };
  const parts = [own, ...others(holders, own.holder)];
  for (const part of parts) while (tooMuch() && age(part, now) >= idleAfter) take(part);
  while (tooMuch()) {
    const giver = whoGives(parts, bytes > mostBytes ? 'bytes' : 'entries', now);
    if (giver.next === undefined) return null;
    take(giver);
  }
  return victims;
}

const sum = (numbers: Iterable<number>): number => Iterator.from(numbers).reduce((all, one) => all + one, 0);

/** As if the files were here already, in the place of those that they replace. */
function withIncoming(holder: Holder, incoming: Incoming, weight: number): Part {
  const replaced = [...incoming.keys()].flatMap((key) => holder.held.get(key)?.weight ?? []);
  return partOf(holder, {
    bytes: holder.bytes - sum(replaced) + weight,
    entries: holder.entries - replaced.length + incoming.size,
    staying: incoming,
  });
}

function* others(holders: Holders, own: Holder): Iterable<Part> {
  for (const holder of holders.users.values())
    if (holder !== own && holder.entries > 0) yield partOf(holder, { ...holder, staying: new Map() });
}

function partOf(holder: Holder, of: { bytes: number; entries: number; staying: Incoming }): Part {
  const leaving = holder.held
    .entries()
    .filter(([key]) => !of.staying.has(key))
    .map(([key, { weight, usedAt }]): Leaving => ({ key, weight, usedAt }));
  return { holder, leaving, next: leaving.next().value, bytes: of.bytes, entries: of.entries };
}

function takeNext(part: Part): void {
  part.bytes -= part.next!.weight;
  part.entries--;
  part.next = part.leaving.next().value;
}

/** Who holds the most of what is scarce; of several, who has not used the next to leave for longest. */
function whoGives(parts: readonly Part[], scarce: 'bytes' | 'entries', now: number): Part {
  return parts.reduce((one, other) => {
    const more = other[scarce] - one[scarce] || age(other, now) - age(one, now);
    return more > 0 ? other : one;
  });
}

/** Where nothing can leave but what is to come, that is the youngest there is. */
const age = ({ next }: Part, now: number): number => (next === undefined ? -Infinity : now - next.usedAt);
