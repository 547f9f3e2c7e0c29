import { Best, type Hit } from './best.ts';
import type { Pace } from './pace.ts';
import { addScores, countUp, walk, type Weighed } from './scoring.ts';
import type { Visible } from './visible.ts';

/** What is looked for, read and weighed. */
export interface Sought {
  readonly wanted: readonly Weighed[];
  readonly required: readonly Weighed[];
  /** By segment: 1 for each document that must not be found; null where there is none. */
  readonly barred: readonly (Uint8Array | null)[];
}

/** What was found. */
export interface Found {
  readonly total: number;
  /** By segment: 0 for what was not found. */
  readonly chosen: readonly Uint8Array[];
  readonly best: readonly Hit[];
}

/** Where so many hold all words, those with only some of them are not asked for. */
const enough = 100;
/** A word that more documents than this share hold does not make one worth showing on its own. */
const tellingShare = 0.02;

const [requiredUnit, telling] = [128, 16_384];

/**
 * The rule, one for each query whatever the page: all required clauses have to be there. Where at least `enough` documents
 * hold all the wanted ones too, these are the result. Otherwise it is those that hold at least one that is telling, the
 * ones with all of them first.
 */
export async function match(visible: Visible, sought: Sought, most: number, pace: Pace): Promise<Found> {
  const counts: Uint16Array[] = [];
  for (const index of visible.segments.keys()) counts.push(await countClauses(visible, sought, index, pace));
  const all = sought.wanted.length + sought.required.length * requiredUnit;
  const complete = counts.reduce((sum, count) => sum + howMany(count, all), 0);
  const needsAll = complete >= enough || sought.wanted.length === 0;
  const chosen = counts.map((count) => choose(count, sought, needsAll));
  return rank(visible, sought, chosen, most, pace);
}

/** How many documents have all. */
function howMany(counts: Uint16Array, all: number): number {
  let number = 0;
  for (let at = 0; at < counts.length; at++) if ((counts[at]! & ~telling) === all) number++;
  return number;
}

/** For each document how many wanted and required clauses it has; 0 for what is barred. */
async function countClauses(
  visible: Visible,
  { wanted, required, barred }: Sought,
  index: number,
  pace: Pace,
): Promise<Uint16Array> {
  const { hidden, of } = visible.segments[index]!;
  const counts = new Uint16Array(of.columns.size);
  const rare = rarityOf(visible, wanted);
  for (const { lists, documents } of wanted) {
    await pace.breathe();
    const list = lists[index]!;
    if (list !== null) countUp(list, counts, 1, documents <= rare ? telling : 0);
  }
  for (const { lists } of required) {
    await pace.breathe();
    if (lists[index] !== null) countUp(lists[index]!, counts, requiredUnit, 0);
  }
  for (const mask of [hidden, barred[index]!])
    if (mask !== null) for (let at = 0; at < counts.length; at++) if (mask[at] !== 0) counts[at] = 0;
  return counts;
}

/** In how many documents a word may be to be telling: the rarest always is. */
function rarityOf({ count }: Visible, wanted: readonly Weighed[]): number {
  const known = wanted.map(({ documents }) => documents).filter((documents) => documents > 0);
  return Math.max(enough, count * tellingShare, Math.min(...known, Number.POSITIVE_INFINITY));
}

/** 2 for documents that have all, 1 for others that are found. */
function choose(counts: Uint16Array, { wanted, required }: Sought, needsAll: boolean): Uint8Array {
  const chosen = new Uint8Array(counts.length);
  const [most, must] = [wanted.length, required.length * requiredUnit];
  for (let at = 0; at < counts.length; at++) {
    const count = counts[at]!;
    if (count === 0) continue;
    const plain = count & ~telling;
    if (plain === most + must) chosen[at] = 2;
    else if (!needsAll && count >= telling && (plain & ~(requiredUnit - 1)) === must) chosen[at] = 1;
  }
  return chosen;
}

async function rank(
  visible: Visible,
  { wanted, required }: Sought,
  chosen: readonly Uint8Array[],
  most: number,
  pace: Pace,
): Promise<Found> {
  const best = new Best(visible, most);
  let total = 0;
  for (const [index, segment] of visible.segments.entries()) {
    const marks = chosen[index]!;
    const room = clearRoom(marks.length);
    const { scores, fields } = room;
    for (const { lists, weight } of most > 0 ? [...required, ...wanted] : []) {
      await pace.breathe();
      if (lists[index] !== null) addScores(lists[index]!, weight, visible, segment, marks, scores, fields);
    }
    for (let at = 0; at < marks.length; at++) {
      if (marks[at] === 0) continue;
      total++;
      best.add(index, at, marks[at]!, scores[at]!, fields[at]!);
    }
    giveBack(room);
  }
  return { total, chosen, best: best.sorted() };
}

interface Room {
  readonly scores: Float64Array;
  readonly fields: Uint8Array;
}

let spare: Room | null = null;

/** Room to add up in, as a rule the same each time: to make it anew costs as much as a search. */
export function clearRoom(size: number): Room {
  const room = spare;
  // Whoever comes while it is in use makes another.
  spare = null;
  if (room === null || room.scores.length < size)
    return { scores: new Float64Array(size), fields: new Uint8Array(size) };
  room.scores.fill(0, 0, size);
  room.fields.fill(0, 0, size);
  return room;
}

export function giveBack(room: Room): void {
  if (spare === null || spare.scores.length < room.scores.length) spare = room;
}

/** Everything that is not barred, the newest first: what a search without words gives. */
export async function newest(
  visible: Visible,
  barred: readonly (Uint8Array | null)[],
  most: number,
  pace: Pace,
): Promise<Found> {
  const best = new Best(visible, most);
  let total = 0;
  const chosen: Uint8Array[] = [];
  for (const [index, { of, hidden }] of visible.segments.entries()) {
    await pace.breathe();
    const marks = new Uint8Array(of.columns.size);
    for (let at = 0; at < marks.length; at++) {
      if (hidden?.[at] === 1 || barred[index]?.[at] === 1) continue;
      marks[at] = 1;
      total++;
      const published = of.columns.published[at]!;
      best.add(index, at, 1, Number.isNaN(published) ? Number.NEGATIVE_INFINITY : published);
    }
    chosen.push(marks);
  }
  return { total, chosen, best: best.sorted().map((hit) => ({ ...hit, score: 0 })) };
}

/** The best by weighted words alone, whichever of them a document holds. */
export async function rankAny(
  visible: Visible,
  words: readonly Weighed[],
  most: number,
  allowed: (segment: number, at: number) => boolean,
  pace: Pace,
): Promise<readonly Hit[]> {
  const chosen: Uint8Array[] = [];
  for (const [index, { of, hidden }] of visible.segments.entries()) {
    const marks = new Uint8Array(of.columns.size);
    for (const { lists } of words) {
      await pace.breathe();
      if (lists[index] !== null) walk(lists[index]!, (at) => (marks[at] = 1));
    }
    for (let at = 0; at < marks.length; at++)
      if (marks[at] === 1 && (hidden?.[at] === 1 || !allowed(index, at))) marks[at] = 0;
    chosen.push(marks);
  }
  return (await rank(visible, { wanted: words, required: [], barred: [] }, chosen, most, pace)).best;
}
