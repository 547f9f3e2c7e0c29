/**
 * The texts in a value: collects them with their places, and puts others in their place. Keys count as texts too.
 * It bounds depth and number, so that a hostile value costs no more than it weighs.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import type { NamedText } from './evaluate.ts';

const maxDepth = 64;
const maxTexts = 200_000;

/** All texts among the arguments of a call, by their place. */
export function listNamedTexts(given: Readonly<Record<string, unknown>>): NamedText[] {
  const found: NamedText[] = [];
  const visit = (value: unknown, name: string, depth: number): void => {
    demandDepth(depth, found.length);
    if (typeof value === 'string') found.push({ name, text: value });
    else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) {
        const place = name === '' ? key : `${name}.${key}`;
        if (!Array.isArray(value) && name !== '') found.push({ name: place, text: key });
        visit(inner, place, depth + 1);
      }
  };
  visit(given, '', 0);
  return found;
}

/** All texts and keys of a value, in the order in which `replaceTexts` takes them. */
export function listTexts(value: unknown): string[] {
  const found: string[] = [];
  replaceTexts(value, (text) => {
    demandDepth(0, found.length);
    found.push(text);
    return text;
  });
  return found;
}

/** The same value with other texts. */
export function replaceTexts(value: unknown, replace: (text: string) => string, depth = 0): unknown {
  demandDepth(depth, 0);
  if (typeof value === 'string') return replace(value);
  if (Array.isArray(value)) return value.map((inner) => replaceTexts(inner, replace, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  // Without a prototype a key such as __proto__ is a key like any other.
  const replaced = Object.create(null) as Record<string, unknown>;
  for (const [key, inner] of Object.entries(value))
    replaced[replace(key)] = replaceTexts(inner, replace, depth + 1);
  return { ...replaced };
}

function demandDepth(depth: number, count: number): void {
  if (depth > maxDepth)
    throw new WorkcrateError('guard_failed', `a value is nested more than ${maxDepth} deep`);
  if (count > maxTexts)
    throw new WorkcrateError('guard_failed', `there are more than ${maxTexts} texts to judge`);
}
