/**
 * Crates and their files as MCP resources: `workcrate://crates/{crate_id}`, which reads as `get_crate` answers, and
 * `workcrate://crates/{crate_id}/{+path}`. Crates are listed, their files are not: one crate may have millions.
 */
import {
  beginsWith,
  readByTool,
  showBytes,
  type DeclaredResources,
  type ListedResource,
} from '../../core/offer/resource.ts';
import { bindTool, type ToolContext } from '../../core/offer/tool.ts';
import { collectBytes } from '../../platform/streams.ts';
import { quoteShort } from '../../platform/text/text.ts';
import type { Crates } from './crates.ts';
import { getCrateTool } from './tools/find.ts';
import { hideFolders, redactCrateTools } from './tools/redact-folders.ts';
import type { CratesRoom } from './tools/room.ts';

const [readableCrateTool] = redactCrateTools([getCrateTool]);

const crateKind: DeclaredResources<CratesRoom> = {
  name: 'crate',
  group: 'crates',
  title: 'Research crate',
  description: 'What is known of an RO-Crate: title, authors, licence, contents. search_index finds them.',
  template: 'workcrate://crates/{crate_id}',

  async list({ crates }, { after, limit }, context) {
    const { results, next } = await findCrates(crates, context, {
      query: '',
      limit,
      offset: toOffset(after),
    });
    return { resources: results.map(toListedCrate), next: next === null ? null : String(next) };
  },

  read: (room, { crate_id }, context) =>
    readByTool(bindTool(readableCrateTool!, room), { crate_id }, context),

  complete: ({ crates }, _variable, begun, context) => completeCrateId(crates, context, begun),
};

const crateFileKind: DeclaredResources<CratesRoom> = {
  name: 'crate-file',
  group: 'crates',
  title: 'File of a crate',
  description: 'One file of a crate, by its path in it. list_crate_files lists them.',
  template: 'workcrate://crates/{crate_id}/{+path}',

  read: ({ crates }, { crate_id: id, path }, context) =>
    hideFolders(crates, async () => {
      const { caller, signal } = context;
      const found = await crates.inside.describe(caller, id!, path!, signal);
      return showBytes({
        name: path!,
        ...found,
        otherwise: `For a link, call read_crate_file with crate_id ${id}, this path and delivery link.`,
        read: () => collectBytes(crates.inside.stream(caller, id!, path!, signal)),
      });
    }),

  async complete({ crates }, variable, begun, context, { crate_id: id }) {
    if (variable === 'crate_id') return completeCrateId(crates, context, begun);
    if (id === undefined) return [];
    const wish = { glob: null, limit: maxLookedAt, offset: 0 };
    const listing = await hideFolders(crates, () =>
      crates.inside.list(context.caller, id, wish, context.signal),
    );
    return listing.files.map(({ path }) => path).filter((path) => beginsWith(path, begun));
  },
};

export const crateResources: readonly DeclaredResources<CratesRoom>[] = [crateKind, crateFileKind];

const maxLookedAt = 5000;

interface CrateWish {
  readonly query: string;
  readonly limit: number;
  readonly offset: number;
}

/** The newest first where nothing is looked for. Clients ask when they connect, whether anybody wants a crate or not. */
async function findCrates(
  crates: Crates,
  { caller, signal }: ToolContext,
  wish: CrateWish,
): Promise<FoundCrates> {
  if (!crates.isIndexed()) return { results: [], next: null };
  return crates.search(caller, { ...wish, mode: 'keyword', filters: [], facets: false }, signal);
}

type FoundCrates = Pick<Awaited<ReturnType<Crates['search']>>, 'results' | 'next'>;

/** A place in the list; anything else, which came with a changed cursor, is its start. */
const toOffset = (after: string | null): number =>
  after !== null && /^\d{1,5}$/.test(after) ? Number(after) : 0;

type FoundCrate = FoundCrates['results'][number];

const maxShownText = 100;

const toListedCrate = ({ crateId, title, description }: FoundCrate): ListedResource => ({
  variables: { crate_id: crateId },
  name: title,
  description: `${quoteShort(title, maxShownText)}, crate: ${quoteShort(description, maxShownText)}`,
  mimeType: 'text/plain',
});

/** By the start of an id, or by words as in a search. */
async function completeCrateId(crates: Crates, context: ToolContext, begun: string): Promise<string[]> {
  const isId = beginsWith('crate_', begun) || begun.startsWith('crate_');
  const wish = { query: isId ? '' : begun, limit: 100, offset: 0 };
  const { results } = await findCrates(crates, context, wish);
  const ids = results.map(({ crateId }) => crateId);
  return isId ? ids.filter((id) => beginsWith(id, begun)) : ids;
}
