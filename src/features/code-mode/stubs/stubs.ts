/**
 * Typed functions for code that calls tools: files for Python and Node, made of the definitions that servers give. It
 * writes nothing to disk and calls nothing; the files import the runtime library beside them, `_workcrate`, and do
 * nothing else.
 */
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { ToolDefinition } from '../../../core/offer/toolbox.ts';
import { formatBytes } from '../../../platform/text/text.ts';
import { readStubTool } from './detail.ts';
import { createNaming } from './identifiers.ts';
import {
  nodeDeclarationsStart,
  nodeModuleDeclarations,
  nodeModuleStart,
  renderNodeEntry,
  renderNodeFunction,
} from './node.ts';
import { pythonModuleStart, pythonStubStart, renderPythonEntry, renderPythonFunction } from './python.ts';

const defaultMaxBytes = 16 * 1024 ** 2;

/** The files by their paths below `/tools/mcp/`. */
export type StubFiles = ReadonlyMap<string, string>;

/** One tool in all files. */
interface ToolTexts {
  readonly python: string;
  readonly pythonEntry: string;
  readonly node: string;
  readonly nodeEntry: string;
}

type RenderTool = (definition: ToolDefinition, identifier: string) => ToolTexts;

function renderTool(definition: ToolDefinition, identifier: string): ToolTexts {
  const tool = readStubTool(definition, identifier);
  return {
    python: renderPythonFunction(tool),
    pythonEntry: renderPythonEntry(tool),
    node: renderNodeFunction(tool),
    nodeEntry: renderNodeEntry(tool),
  };
}

/**
 * The files of all servers of the definitions. The same definitions give the same files, in whatever order they come.
 * `too_large` if they have more than `maxBytes`.
 */
export function generateStubs(
  definitions: readonly ToolDefinition[],
  maxBytes: number = defaultMaxBytes,
  render: RenderTool = renderTool,
): StubFiles {
  const files = new Map<string, string>();
  let bytes = 0;
  const add = (path: string, parts: readonly string[], separator: string): void => {
    const text = parts.join(separator);
    bytes += Buffer.byteLength(text);
    if (bytes > maxBytes) throw stubsTooLargeError(definitions.length, maxBytes);
    files.set(path, text);
  };
  for (const { folder, tools } of groupByServer(definitions, render)) {
    const list = (part: keyof ToolTexts): string[] => tools.map((tool) => tool[part]);
    add(`${folder}/__init__.py`, [pythonModuleStart, ...list('python')], '\n\n');
    add(`${folder}/__init__.pyi`, [pythonStubStart, ...list('pythonEntry')], '\n');
    add(`${folder}/index.mjs`, [nodeModuleStart, ...list('node')], '');
    add(`${folder}/index.d.ts`, [nodeDeclarationsStart, ...list('nodeEntry')], '\n');
    add(`${folder}/index.d.mts`, [nodeModuleDeclarations], '');
  }
  return files;
}

/** What a model reads of each tool, in each language. */
export function listStubEntries(definitions: readonly ToolDefinition[]): {
  python: string[];
  node: string[];
} {
  const tools = groupByServer(definitions, renderTool).flatMap((server) => server.tools);
  return {
    python: tools.map(({ pythonEntry }) => pythonEntry),
    node: tools.map(({ nodeEntry }) => nodeEntry),
  };
}

interface StubServer {
  readonly folder: string;
  readonly tools: readonly ToolTexts[];
}

/** In the order of names, so that the same definitions get the same identifiers. */
function groupByServer(definitions: readonly ToolDefinition[], render: RenderTool): StubServer[] {
  const byServer = Map.groupBy(definitions.toSorted(compareDefinitions), ({ server }) => server);
  const nameFolder = createNaming();
  return [...byServer].map(([server, tools]) => {
    const nameFunction = createNaming();
    return {
      folder: nameFolder(server),
      tools: tools.map((tool) => render(tool, nameFunction(tool.nameThere))),
    };
  });
}

const toSortKey = ({ server, nameThere, name }: ToolDefinition): string => `${server}\0${nameThere}\0${name}`;

function compareDefinitions(one: ToolDefinition, other: ToolDefinition): number {
  const [first, second] = [toSortKey(one), toSortKey(other)];
  if (first === second) return 0;
  return first < second ? -1 : 1;
}

function stubsTooLargeError(count: number, maxBytes: number): WorkcrateError {
  return new WorkcrateError(
    'too_large',
    `The functions of ${count} tools take more than ${formatBytes(maxBytes)}. Name fewer in tools.`,
  );
}

const maxCachedCharacters = 16 * 1024 ** 2;

/** Keeps what was made of each tool, by the hash of its definition and by its names here. */
export function createStubCache(): (definitions: readonly ToolDefinition[]) => StubFiles {
  const cache = new BoundedMap<string, ToolTexts>({
    mostWeight: maxCachedCharacters,
    weigh: ({ python, pythonEntry, node, nodeEntry }) =>
      python.length + pythonEntry.length + node.length + nodeEntry.length,
  });
  const render: RenderTool = (definition, identifier) => {
    const { hash, name, nameThere } = definition;
    const key = JSON.stringify([hash, name, nameThere, identifier]);
    const known = cache.use(key);
    if (known !== undefined) return known;
    const texts = renderTool(definition, identifier);
    cache.set(key, texts);
    return texts;
  };
  return (definitions) => generateStubs(definitions, defaultMaxBytes, render);
}
