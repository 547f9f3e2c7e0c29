/**
 * What a tool takes, in one line of a few words, from a schema that another server wrote; and what is wrong with arguments
 * at first sight. It is no validator: a tool judges its own arguments.
 */
import { findNearest } from '../../platform/text/edit-distance.ts';
import { quoteName } from '../../platform/text/text.ts';

const maxListedKeys = 30;
const maxArgumentName = 100;
const maxTypeDepth = 2;
const maxOptions = 8;

interface ArgumentShape {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: ReadonlySet<unknown>;
  readonly isClosed: boolean;
}

function readArgumentShape(schema: unknown): ArgumentShape {
  const { properties, required, additionalProperties } = asRecord(schema);
  return {
    properties: asRecord(properties),
    required: new Set(Array.isArray(required) ? required : []),
    isClosed: additionalProperties === false,
  };
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};

/** `query: string, limit?: integer`; the arguments that have to be given come first. */
export function describeArguments(schema: unknown): string {
  const { properties, required } = readArgumentShape(schema);
  const names = Object.keys(properties);
  const ordered = [
    ...names.filter((name) => required.has(name)),
    ...names.filter((name) => !required.has(name)),
  ];
  const shown = ordered
    .slice(0, maxListedKeys)
    .map((name) => `${showName(name)}${required.has(name) ? '' : '?'}: ${nameType(properties[name], 0)}`);
  const more = ordered.length - shown.length;
  if (more > 0) shown.push(`and ${more} more`);
  return shown.length === 0 ? 'none' : shown.join(', ');
}

const showName = (name: string): string =>
  quoteName(name.length > maxArgumentName ? `${name.slice(0, maxArgumentName)}…` : name);

function nameType(schema: unknown, depth: number): string {
  const { type, enum: choices, items, anyOf, oneOf } = asRecord(schema);
  if (Array.isArray(choices) && choices.length > 0) return describeChoices(choices);
  if (type === 'array') return depth < maxTypeDepth ? `list of ${nameType(items, depth + 1)}` : 'list';
  if (typeof type === 'string') return showName(type);
  if (Array.isArray(type))
    return type
      .slice(0, maxOptions)
      .map((one) => showName(String(one)))
      .join(' | ');
  const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  if (branches.length === 0 || depth >= maxTypeDepth) return 'any';
  const described = branches.slice(0, maxOptions).map((branch) => nameType(branch, depth + 1));
  return [...new Set(described)].join(' | ');
}

function describeChoices(choices: readonly unknown[]): string {
  const shown = choices.slice(0, maxOptions).map((choice) => showName(String(choice)));
  return choices.length > maxOptions ? `${shown.join(' | ')} | …` : shown.join(' | ');
}

/** What the names of the arguments tell: which are missing, and which are unknown. Empty where nothing is. */
export function listMisfits(schema: unknown, given: Readonly<Record<string, unknown>>): string[] {
  const { properties, required, isClosed } = readArgumentShape(schema);
  const missing = [...required]
    .filter((name) => typeof name === 'string' && !Object.hasOwn(given, name))
    .slice(0, maxListedKeys)
    .map((name) => `${showName(name as string)} is missing`);
  const known = Object.keys(properties).slice(0, 1000);
  const unknown = isClosed ? Object.keys(given).filter((name) => !Object.hasOwn(properties, name)) : [];
  return [...missing, ...unknown.slice(0, maxListedKeys).map((name) => suggestName(name, known))];
}

function suggestName(name: string, known: readonly string[]): string {
  const nearest = findNearest(name.slice(0, maxArgumentName), known);
  const hint = nearest === null ? '' : ` (did you mean ${showName(nearest)}?)`;
  return `there is no ${showName(name)}${hint}`;
}
