/**
 * What of a definition is searched, by field, within bounds: the texts come from other servers, and one of them may be a
 * megabyte of keywords. It reads schemas without trusting them.
 */
import { joinNeighbours, listStems, splitWords } from './words.ts';

/** What is needed of a tool to search for it. `server` is null where nobody knows it. */
export interface SearchableTool {
  readonly name: string;
  /** Its name on its server, without the prefix of the gateway. */
  readonly nameThere?: string;
  readonly server?: string | null;
  readonly title?: string | null | undefined;
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
  /** Another hash is another definition. */
  readonly hash?: string;
}

export const fieldNames = ['name', 'title', 'description', 'arguments', 'argumentTexts', 'server'] as const;
export type ToolFieldName = (typeof fieldNames)[number];

/** The stems of each field, with repetitions. */
export type ToolFields = Readonly<Record<ToolFieldName, readonly string[]>>;

const maxIndexedName = 256;
const maxIndexedDescription = 4000;
const maxArgumentTextLength = 4000;
const maxArguments = 100;
const maxIndexedChoices = 20;
const maxBranches = 10;
const maxSchemaDepth = 4;
const maxStems = 400;

export function readFields(tool: SearchableTool): ToolFields {
  const server = (tool.server ?? '').slice(0, maxIndexedName);
  const written = readSchemaTexts(tool.inputSchema);
  return {
    name: readName(withoutServer((tool.nameThere ?? tool.name).slice(0, maxIndexedName), server)),
    title: cutStems(listStems((tool.title ?? '').slice(0, maxIndexedName))),
    description: cutStems(listStems((tool.description ?? '').slice(0, maxIndexedDescription))),
    arguments: cutStems(written.names.flatMap(listStems)),
    argumentTexts: cutStems(listStems(written.texts.join(' ').slice(0, maxArgumentTextLength))),
    server: readName(server),
  };
}

const cutStems = (stems: readonly string[]): readonly string[] => stems.slice(0, maxStems);

/** A prefix of the gateway says only which server it is, and all tools of the server have it. */
function withoutServer(name: string, server: string): string {
  const prefix = `${server}_`;
  return server !== '' && name.startsWith(prefix) && name.length > prefix.length
    ? name.slice(prefix.length)
    : name;
}

/** Of a name every word counts, stop words too: `make`, `use` and `up` are what some tools do. */
function readName(name: string): string[] {
  const words = splitWords(name);
  return [...words.map(({ stem }) => stem), ...joinNeighbours(words)];
}

interface SchemaTexts {
  readonly names: string[];
  readonly texts: string[];
}

/** Names, descriptions and choices of the arguments, to some depth. References are not followed. */
function readSchemaTexts(schema: unknown): SchemaTexts {
  const found: SchemaTexts = { names: [], texts: [] };
  collect(schema, 0, found);
  return found;
}

function collect(schema: unknown, depth: number, found: SchemaTexts): void {
  if (!isJsonRecord(schema) || depth > maxSchemaDepth) return;
  const { description, enum: choices, properties, items, anyOf, oneOf } = schema;
  // The description of the whole is that of the tool, or says what every schema says.
  if (typeof description === 'string' && depth > 0)
    found.texts.push(description.slice(0, maxArgumentTextLength));
  if (Array.isArray(choices))
    for (const choice of choices.slice(0, maxIndexedChoices))
      if (typeof choice === 'string') found.texts.push(choice.slice(0, 60));
  if (isJsonRecord(properties))
    for (const [name, inner] of Object.entries(properties).slice(0, maxArguments)) {
      if (found.names.length >= maxArguments) return;
      found.names.push(name.slice(0, maxIndexedName));
      collect(inner, depth + 1, found);
    }
  for (const inner of [items, ...listSchemaBranches(anyOf), ...listSchemaBranches(oneOf)])
    collect(inner, depth + 1, found);
}

const listSchemaBranches = (branches: unknown): readonly unknown[] =>
  Array.isArray(branches) ? branches.slice(0, maxBranches) : [];

const isJsonRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
