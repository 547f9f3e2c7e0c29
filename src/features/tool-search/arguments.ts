/**
 * What a tool takes, in one line of a few words, from a schema that another server wrote; and what is wrong with arguments
 * at first sight. It is no validator: a tool judges its own arguments.
 */
import { findNearest } from '../../platform/text/edit-distance.ts';
import { quoteName } from '../../platform/text/text.ts';

const maxShown = 30;
const maxNameLength = 100;
const maxTypeDepth = 2;
const maxChoices = 8;

interface Shape {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: ReadonlySet<unknown>;
  readonly isClosed: boolean;
}

function readShape(schema: unknown): Shape {
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
  const { properties, required } = readShape(schema);
  const names = Object.keys(properties);
  const ordered = [
    ...names.filter((name) => required.has(name)),
    ...names.filter((name) => !required.has(name)),
  ];
  const shown = ordered
    .slice(0, maxShown)
    .map((name) => `${showName(name)}${required.has(name) ? '' : '?'}: ${describeType(properties[name], 0)}`);
  const more = ordered.length - shown.length;
  if (more > 0) shown.push(`and ${more} more`);
  return shown.length === 0 ? 'none' : shown.join(', ');
}

const showName = (name: string): string =>
  quoteName(name.length > maxNameLength ? `${name.slice(0, maxNameLength)}…` : name);

function describeType(schema: unknown, depth: number): string {
  const { type, enum: choices, items, anyOf, oneOf } = asRecord(schema);
  if (Array.isArray(choices) && choices.length > 0) return describeChoices(choices);
  if (type === 'array') return depth < maxTypeDepth ? `list of ${describeType(items, depth + 1)}` : 'list';
  if (typeof type === 'string') return showName(type);
  if (Array.isArray(type))
    return type
      .slice(0, maxChoices)
      .map((one) => showName(String(one)))
      .join(' | ');
  const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  if (branches.length === 0 || depth >= maxTypeDepth) return 'any';
  const described = branches.slice(0, maxChoices).map((branch) => describeType(branch, depth + 1));
  return [...new Set(described)].join(' | ');
}

function describeChoices(choices: readonly unknown[]): string {
  const shown = choices.slice(0, maxChoices).map((choice) => showName(String(choice)));
  return choices.length > maxChoices ? `${shown.join(' | ')} | …` : shown.join(' | ');
}

/** What the names of the arguments tell: which are missing, and which are unknown. Empty where nothing is. */
export function listMisfits(schema: unknown, given: Readonly<Record<string, unknown>>): string[] {
  const { properties, required, isClosed } = readShape(schema);
  const missing = [...required]
    .filter((name) => typeof name === 'string' && !Object.hasOwn(given, name))
    .slice(0, maxShown)
    .map((name) => `${showName(name as string)} is missing`);
  const known = Object.keys(properties).slice(0, 1000);
  const unknown = isClosed ? Object.keys(given).filter((name) => !Object.hasOwn(properties, name)) : [];
  return [...missing, ...unknown.slice(0, maxShown).map((name) => describeUnknown(name, known))];
}

function describeUnknown(name: string, known: readonly string[]): string {
  const nearest = findNearest(name.slice(0, maxNameLength), known);
  const hint = nearest === null ? '' : ` (did you mean ${showName(nearest)}?)`;
  return `there is no ${showName(name)}${hint}`;
}
