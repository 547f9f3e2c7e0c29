/**
 * The tool `list_client_directory`: a listing as a tree, in JSON and in text. It asks no client and checks no path:
 * `client-files.ts` does.
 */
import { z } from 'zod';
import { linkShape } from '../../../core/links/link-result.ts';
import { makeText } from '../../../core/offer/schema.ts';
import { declareTool, type ToolContext } from '../../../core/offer/tool.ts';
import { quoteName } from '../../../platform/text/text.ts';
import type { ClientEntry, ClientFiles, ClientListing, ListFolderOptions } from '../client-files.ts';
import { isInstructions } from '../requests/file-request.ts';
import { describeMethod } from '../freshness.ts';
import {
  createPathSchema,
  describeAllowedFolders,
  describeInstructions,
  listingInstructionsShape,
  methodSchema,
  requestInputShape,
} from './instructions.ts';
import type { LargeAnswers } from './read.ts';

export interface ListRoom {
  readonly bridge: Pick<ClientFiles, 'list'>;
  readonly large: LargeAnswers;
}

/** More than that is of use to programs alone. */
const maxShownEntries = 1000;
const maxListShownCharacters = 48 * 1024;

const entryShape = z.object({
  path: z.string().describe("From the project's folder"),
  name: z.string(),
  type: z.enum(['file', 'folder', 'link', 'other']),
  size: z.number().nullable(),
  mtime: z.number().nullable().describe('Milliseconds since 1970'),
  get children() {
    return z.array(entryShape).optional().describe('What is in a folder, where recursive was set');
  },
});

const listOutputSchema = z.object({
  status: z.enum(['listed', 'offered']).describe('offered: nothing is here yet, offer says what to do'),
  path: z.string(),
  rung: methodSchema,
  offer: listingInstructionsShape.optional(),
  local_path: z.string().optional().describe('Where the server listed it in place'),
  entries: z.array(entryShape).optional().describe(`A tree, of at most ${maxShownEntries} in all`),
  total: z.number().int().optional().describe('How many there are in all'),
  hidden: z.number().int().optional().describe('How many were left out because they are not allowed'),
  cut: z.boolean().optional().describe('Whether there are, or may be, more than are counted'),
  file_id: z.string().optional().describe('All of them, one JSON object a line'),
  link: linkShape.optional(),
});

type ListOutput = z.input<typeof listOutputSchema>;

/** What may be listed is in the description. */
export function declareListTool(listable: readonly string[]) {
  return declareTool({
    name: 'list_client_directory',
    group: 'client',
    title: 'List a folder of the client',
    description: `Lists a folder of the user's project on the client's machine. With a shell there, ls is quicker. If the answer is a command, run it there, then call again. ${describeAllowedFolders(listable)}`,
    input: z.strictObject({
      path: createPathSchema('docs'),
      recursive: z.boolean().optional(),
      pattern: makeText(1024, 'Such as *.md or **/*.csv').optional(),
      ...requestInputShape,
      via: requestInputShape.via.describe('As in read_client_file'),
    }),
    output: listOutputSchema,
    annotations: { readOnlyHint: true, openWorldHint: false },
    auditFields: { subject: ['path'] },
    async handle({ bridge, large }: ListRoom, input, context) {
      const answer = await bridge.list(input, context);
      if ('ask' in answer) return answer;
      if (isInstructions(answer)) return describeInstructions(answer);
      const result = await answerWithListing(large, answer, context);
      return isTooNarrow(input) ? { ...result, text: `${result.text}\n${tooNarrowNotice}` } : result;
    },
  });
}

const tooNarrowNotice =
  'Only the folder itself was listed, but the pattern names folders below it: set recursive.';

const isTooNarrow = ({
  recursive = false,
  pattern = '',
}: Pick<ListFolderOptions, 'recursive' | 'pattern'>): boolean => !recursive && pattern.includes('/');

async function answerWithListing(large: LargeAnswers, listing: ClientListing, context: ToolContext) {
  const { path, rung, hidden, cut } = listing;
  const entries = sortAsTree(listing.entries);
  const { nodes, isAll } = takeFittingEntries(addParentFolders(path, entries));
  const structured: ListOutput = {
    status: 'listed',
    path,
    rung,
    ...(listing.localPath === null ? {} : { local_path: listing.localPath }),
    entries: buildTree(nodes),
    total: entries.length,
    hidden,
    cut,
  };
  const start = path === '' ? 0 : path.length + 1;
  const text = [describeListing(listing), ...nodes.map((node) => toTreeLine(start, node))].join('\n');
  if (isAll) return { text, structured };
  const all = await large.byLink(context, `${path || 'project'}.jsonl`, toTreeLines(entries));
  return {
    text: `${text}\nThese are ${nodes.length} of them. All ${entries.length}, one JSON object a line: ${all.fileId}: ${all.text}`,
    structured: { ...structured, file_id: all.fileId, link: all.structured },
    content: all.content!,
  };
}

function describeListing({ path, entries, rung, localPath, hidden, cut }: ClientListing): string {
  const left = hidden === 0 ? '' : `, ${hidden} left out since they may not be seen`;
  const place = localPath === null ? '' : ` at ${quoteName(localPath)}`;
  const more = cut ? ', cut off: there may be more' : '';
  return `${quoteName(path || '.')}: ${entries.length} entries${more}${left}, ${describeMethod(rung)}${place}`;
}

/** Those that fit into a conversation: names may be long, and folders lie deep. */
function takeFittingEntries(all: Iterable<ClientEntry>): { nodes: ClientEntry[]; isAll: boolean } {
  const nodes: ClientEntry[] = [];
  let left = maxListShownCharacters;
  for (const node of all) {
    left -= node.path.length;
    if (nodes.length === maxShownEntries || left < 0) return { nodes, isAll: false };
    nodes.push(node);
  }
  return { nodes, isAll: true };
}

function toTreeLine(start: number, entry: ClientEntry): string {
  const depth = entry.path.slice(start).split('/').length;
  const mark = entry.type === 'folder' ? '/' : entry.type === 'file' ? '' : ` (${entry.type})`;
  const size = entry.size === null ? '' : `  ${entry.size} bytes`;
  const time = entry.mtime === null ? '' : `  ${new Date(entry.mtime).toISOString().slice(0, 19)}Z`;
  return `${'  '.repeat(depth)}${quoteName(getEntryName(entry))}${mark}${size}${time}`;
}

function* toTreeLines(entries: readonly ClientEntry[]): Generator<Uint8Array> {
  const batch = 1000;
  for (let at = 0; at < entries.length; at += batch) {
    const some = entries.slice(at, at + batch);
    yield Buffer.from(
      some.map((entry) => `${JSON.stringify({ ...entry, name: getEntryName(entry) })}\n`).join(''),
    );
  }
}

/** An entry in its place in the tree. */
export interface TreeNode extends ClientEntry {
  readonly name: string;
  /** What is in it, where folders were gone into. */
  children?: TreeNode[];
}

/** What is in a folder follows it at once: `a`, `a/b`, `a.md`. */
function sortAsTree(entries: readonly ClientEntry[]): ClientEntry[] {
  return entries
    .map((entry) => ({ entry, key: entry.path.replaceAll('/', '\0') }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ entry }) => entry);
}

/**
 * Every entry, in the order of a tree, with the folders above it before the first of what is in them: also those that a
 * pattern left out, since a name alone does not tell where it is.
 */
function* addParentFolders(folder: string, entries: readonly ClientEntry[]): Generator<ClientEntry> {
  const seen = new Set<string>();
  const start = folder === '' ? 0 : folder.length + 1;
  for (const entry of entries) {
    for (let at = entry.path.indexOf('/', start); at > 0; at = entry.path.indexOf('/', at + 1)) {
      const path = entry.path.slice(0, at);
      if (!seen.has(path)) yield { path, type: 'folder', size: null, mtime: null };
      seen.add(path);
    }
    seen.add(entry.path);
    yield entry;
  }
}

/** The same as a tree. Takes entries as `addParentFolders` gives them. */
function buildTree(entries: readonly ClientEntry[]): TreeNode[] {
  const top: TreeNode[] = [];
  const nodes = new Map<string, TreeNode>();
  for (const entry of entries) {
    const above = nodes.get(entry.path.slice(0, Math.max(0, entry.path.lastIndexOf('/'))));
    const node: TreeNode = { ...entry, name: getEntryName(entry) };
    if (above === undefined) top.push(node);
    else (above.children ??= []).push(node);
    nodes.set(entry.path, node);
  }
  return top;
}

const getEntryName = ({ path }: ClientEntry): string => path.slice(path.lastIndexOf('/') + 1);
