/**
 * Reads the routes that come with Workcrate and those of the operator, and tries the examples of each: a route that does
 * not do what it says is refused at the start.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { getErrno, WorkcrateError } from '../../platform/errors.ts';
import { formatBytes, quoteShort } from '../../platform/text/text.ts';
import { isPhrase } from './phrases.ts';
import { createToolRoutes, type RouteData, type ToolRoutes } from './routes.ts';

const maxRouteFileBytes = 1024 * 1024;

const toolPattern = z.string().min(1).max(100);
const toolPatterns = z.array(toolPattern).max(200);
const phrase = z
  .string()
  .max(200)
  .refine(
    isPhrase,
    'a phrase begins and ends with a word, and has at most two * (each for up to three words)',
  );
const sentence = z.string().min(1).max(1000);

const routeSchema = z.strictObject({
  group: z.string().min(1).max(64),
  when: z.array(phrase).min(1).max(500),
  not: z.array(phrase).max(500).default([]),
  examples: z.array(sentence).min(1).max(100),
  counterexamples: z.array(sentence).min(1).max(100),
});

const routeFileSchema = z.strictObject({
  core: toolPatterns.default([]),
  runsCode: toolPatterns.default([]),
  groups: z.record(z.string().min(1).max(64), toolPatterns).default({}),
  routes: z.array(routeSchema).max(200).default([]),
});

/** Data are read, and not built: from `dist/` they are in the same place. */
export const shippedRoutesFile = join(import.meta.dirname, 'routes.json');

/** The shipped routes, with those of the operator's file after them. */
export function loadRoutes(ownFile: string | null): ToolRoutes {
  const shipped = readRouteFile(shippedRoutesFile);
  if (ownFile === null) return createToolRoutes(shipped);
  const data = joinRoutes(shipped, readRouteFile(ownFile));
  const routes = createToolRoutes(data);
  tryExamples(ownFile, data, routes);
  return routes;
}

function joinRoutes(shipped: RouteData, own: RouteData): RouteData {
  const names = new Set([...Object.keys(shipped.groups), ...Object.keys(own.groups)]);
  const groups = [...names].map((name) => [
    name,
    [...(shipped.groups[name] ?? []), ...(own.groups[name] ?? [])],
  ]);
  return {
    core: [...shipped.core, ...own.core],
    runsCode: [...shipped.runsCode, ...own.runsCode],
    groups: Object.fromEntries(groups) as RouteData['groups'],
    routes: [...shipped.routes, ...own.routes],
  };
}

export function readRouteFile(path: string): RouteData {
  const parsed = routeFileSchema.safeParse(parseRouteFile(path, readBounded(path)));
  if (parsed.success) return parsed.data;
  const [{ path: keys, message }] = parsed.error.issues as [z.core.$ZodIssue];
  throw routeFileError(path, `${keys.length === 0 ? 'it' : keys.join('.')}: ${message}`);
}

function readBounded(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > maxRouteFileBytes)
      throw routeFileError(path, `it is larger than ${formatBytes(maxRouteFileBytes)}`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    const errno = getErrno(error);
    if (errno === null) throw error;
    throw routeFileError(path, errno === 'ENOENT' ? 'there is no such file' : `it cannot be read (${errno})`);
  }
}

function parseRouteFile(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw routeFileError(path, `it is no JSON: ${(error as SyntaxError).message}`);
  }
}

/** Every group is there, every example leads to it, and no counterexample does. */
export function tryExamples(path: string, { groups, routes }: RouteData, compiled: ToolRoutes): void {
  for (const { group, examples, counterexamples } of routes) {
    if (!Object.hasOwn(groups, group))
      throw routeFileError(path, `there is no group ${quoteShort(group, 64)}`);
    for (const example of examples)
      if (!compiled.findGroups(example).includes(group))
        throw routeFileError(path, `${quoteShort(example, 200)} should lead to ${group}, and does not`);
    for (const counterexample of counterexamples)
      if (compiled.findGroups(counterexample).includes(group))
        throw routeFileError(
          path,
          `${quoteShort(counterexample, 200)} should not lead to ${group}, and does`,
        );
  }
}

const routeFileError = (path: string, problem: string): WorkcrateError =>
  new WorkcrateError('config_invalid', `The file of tool routes ${path} cannot be used: ${problem}.`);
