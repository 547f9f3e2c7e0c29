import { pipeline } from 'node:stream/promises';
import { shownListing, shownPage } from '../crates/tools/shown.ts';
import { errnoOf } from '../errors.ts';
import type { SubcommandOf } from './command-help.ts';
import type { CommandInput } from './command.ts';
import { demandCrate, openCrateDesk, type CrateDesk } from './crate-desk.ts';
import { filesText, foundText, reportsText, statusText, summaryText } from './crates-text.ts';
import { countOf, filtersOf, listOf, modeOf, packRequestOf } from './crates-flags.ts';

export interface CratesInput extends CommandInput {
  /** What stands behind `crates`. */
  readonly words: readonly string[];
}

type Action = (desk: CrateDesk, input: CratesInput, words: readonly string[]) => Promise<string | number>;

const actions: Readonly<Record<SubcommandOf<'crates'>, Action>> = {
  index: bringUpToDate,
  search,
  show,
  files,
  read,
  pack,
  status,
};

/** `workcrate crates …`: what the tools for crates do, from the command line. Works beside a running server. */
export async function crates(input: CratesInput): Promise<number> {
  const [name, ...words] = input.words;
  await using desk = await openCrateDesk(input);
  const told = await actions[name as SubcommandOf<'crates'>](desk, input, words);
  if (typeof told === 'number') return told;
  process.stdout.write(told);
  return 0;
}

/** `workcrate index` */
export const index = (input: CratesInput): Promise<number> => crates({ ...input, words: ['index'] });

const asked = ({ flags }: CratesInput): boolean => flags['json'] !== undefined;
const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

async function bringUpToDate({ crates, signal }: CrateDesk, input: CratesInput): Promise<number> {
  const isTerminal = process.stderr.isTTY;
  const reports = await crates.sync({
    signal,
    report({ seen, read, broken }) {
      if (isTerminal) process.stderr.write(`\r${seen} seen, ${read} read, ${broken} broken …`);
    },
  });
  if (isTerminal) process.stderr.write('\r\u001b[K');
  process.stdout.write(asked(input) ? json({ sources: reports }) : reportsText(reports));
  return reports.some(({ state }) => state !== 'ok') ? 1 : 0;
}

async function search({ crates, caller, signal }: CrateDesk, input: CratesInput, words: readonly string[]) {
  const request = {
    query: words.join(' '),
    mode: modeOf(input.flags),
    filters: filtersOf(input.flags),
    limit: countOf(input.flags, 'limit', 10, 100),
    offset: countOf(input.flags, 'offset', 0, 10_000),
  };
  const page = await crates.search(caller, request, signal);
  return asked(input) ? json(shownPage(request.query, page)) : foundText(page);
}

async function show(desk: CrateDesk, input: CratesInput, words: readonly string[]) {
  const summary = await demandCrate(desk, words[0]!);
  return asked(input) ? json(summary) : summaryText(summary);
}

async function files(desk: CrateDesk, input: CratesInput, words: readonly string[]) {
  const { crates, caller, signal } = desk;
  await demandCrate(desk, words[0]!);
  const request = {
    glob: input.flags['glob'] ?? null,
    limit: countOf(input.flags, 'limit', 1000, 1e9),
    offset: countOf(input.flags, 'offset', 0, 1e9),
  };
  const listing = await crates.inside.list(caller, words[0]!, request, signal);
  return asked(input) ? json(shownListing(words[0]!, listing)) : filesText(listing);
}

/** To stdout, byte for byte. */
async function read(desk: CrateDesk, _input: CratesInput, words: readonly string[]) {
  const { crates, caller, signal } = desk;
  await demandCrate(desk, words[0]!);
  const bytes = crates.inside.stream(caller, words[0]!, words[1]!, signal);
  try {
    await pipeline(copied(bytes), process.stdout, { end: false });
  } catch (error) {
    // Whoever reads has enough, as `head` does.
    if (errnoOf(error) !== 'EPIPE') throw error;
  }
  return 0;
}

/** A chunk is good only until the next one is asked for. */
async function* copied(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) yield Buffer.from(chunk);
}

async function pack({ crates, caller, signal }: CrateDesk, input: CratesInput, words: readonly string[]) {
  const request = packRequestOf(input.flags, words[0]!);
  const watching = { signal, progress: () => {} };
  const packed = await crates.pack(caller, request, watching, async (indexed) => indexed);
  const { crateId, locator, size, notes } = packed;
  if (asked(input)) return json({ crate_id: crateId, resource_locator: locator, size, notes });
  return [`Packed as ${crateId}: ${locator} (${size} bytes)`, ...listOf(notes), ''].join('\n');
}

async function status({ crates, caller, signal }: CrateDesk, input: CratesInput) {
  const told = await crates.status(
    caller,
    { limit: countOf(input.flags, 'limit', 100, 1000), offset: 0 },
    signal,
  );
  return asked(input) ? json(told) : statusText(told);
}
