/**
 * Reads a file of rules (YAML or JSON) that an operator wrote, and adds the shipped sets that it names. Its errors name the
 * file, the line and what to write instead. `shipped` in place of a file is all shipped sets.
 */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Document, LineCounter } from 'yaml';
import { z } from 'zod';
import { getErrno, WorkcrateError } from '../../platform/errors.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { judgeSchema, type JudgeSettings } from './judge.ts';
import { ruleActions, ruleSchema, type Rule } from './rule.ts';

const maxRuleFileBytes = 4 * 1024 ** 2;
const maxRules = 2000;

/**
 * The rules that come with the program, in sets by what they are about: a file for each. Every rule has examples and
 * counterexamples, which a test runs. Which sets are on is the operator's choice (decision 057).
 */
const setNames = [
  'destruction',
  'credentials',
  'exfiltration',
  'obfuscation',
  'secrets-in-output',
  'personal-data-in-output',
] as const;
type ShippedSet = (typeof setNames)[number];

/** Published beside this file. */
const shippedFolder = join(import.meta.dirname, 'shipped');

const ruleFile = z
  .strictObject({
    /** Shipped sets by name, each with its own actions or with another for all of its rules. */
    use: z
      .array(
        z.union([z.enum(setNames), z.strictObject({ set: z.enum(setNames), action: z.enum(ruleActions) })]),
      )
      .default([]),
    /** Ids of shipped rules that are left out. */
    without: z.array(z.string()).default([]),
    rules: z.array(ruleSchema).max(maxRules).default([]),
    judge: judgeSchema.optional(),
  })
  .superRefine(({ rules }, issues) => {
    const seen = new Set<string>();
    for (const [at, { id }] of rules.entries()) {
      if (seen.has(id) || id === 'judge')
        issues.addIssue({
          code: 'custom',
          path: ['rules', at, 'id'],
          message: `${id} is the id of another rule`,
        });
      seen.add(id);
    }
  });

type RuleFile = z.output<typeof ruleFile>;

export interface LoadedRules {
  readonly rules: readonly Rule[];
  readonly judge: JudgeSettings | null;
}

/** The word in place of a file for all shipped sets. */
export const shippedWord = 'shipped';

/** The rules of a file, or all that come with the program. */
export function loadRules(place: string): LoadedRules {
  if (place === shippedWord) return { rules: setNames.flatMap(parseShipped), judge: null };
  const source = parseSource(place, readRuleFile(place));
  const parsed = ruleFile.safeParse(source.value);
  if (!parsed.success) throw failAtIssue(place, source, parsed.error.issues[0]!);
  return { rules: joinSets(place, parsed.data), judge: parsed.data.judge ?? null };
}

function parseShipped(name: ShippedSet): Rule[] {
  const text = readFileSync(join(shippedFolder, `${name}.json`), 'utf8');
  // `{{ab*3}}` is ababab: an example of a key is written so, or programs that look for lost keys would find it.
  const whole = text.replaceAll(/\{\{(\S+?)\*(\d+)\}\}/g, (_, part: string, times: string) =>
    part.repeat(Number(times)),
  );
  return z.array(ruleSchema).parse(JSON.parse(whole));
}

function joinSets(path: string, { use, without, rules }: RuleFile): Rule[] {
  const used = use.flatMap((chosen) => {
    if (typeof chosen === 'string') return parseShipped(chosen);
    const { set, action } = chosen;
    return parseShipped(set).map((rule) => changeAction(path, rule, action));
  });
  const known = new Set(used.map(({ id }) => id));
  const unknown = without.filter((id) => !known.has(id));
  if (unknown.length > 0)
    throw failFile(path, `without names ${unknown.join(', ')}, which no set of use has`);
  const own = new Set(rules.map(({ id }) => id));
  const kept = used.filter(({ id }) => !without.includes(id));
  const twice = kept.filter(({ id }) => own.has(id)).map(({ id }) => id);
  if (twice.length > 0)
    throw failFile(
      path,
      `${twice.join(', ')} is the id of a shipped rule; choose another, or leave that out by without`,
    );
  return [...kept, ...rules];
}

function changeAction(path: string, rule: Rule, action: Rule['action']): Rule {
  const changed = ruleSchema.safeParse({ ...rule, action });
  if (changed.success) return changed.data;
  throw failFile(
    path,
    `the rule ${rule.id} cannot have the action ${action}: ${changed.error.issues[0]!.message}`,
  );
}

interface ParsedSource {
  readonly value: unknown;
  readonly document: Document;
  readonly lines: LineCounter;
}

function readRuleFile(path: string): string {
  const file = openRuleFile(path);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw failFile(path, 'it is not a file');
    if (stats.size > maxRuleFileBytes)
      throw failFile(path, `it has more than ${formatBytes(maxRuleFileBytes)}`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function openRuleFile(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw failFile(path, getErrno(error) === 'ENOENT' ? 'there is no such file' : (error as Error).message);
  }
}

function parseSource(path: string, text: string): ParsedSource {
  const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [problem] = document.errors;
  if (problem !== undefined)
    throw failFile(path, `line ${lines.linePos(problem.pos[0]).line}: ${problem.message.replace(/\.$/, '')}`);
  try {
    // An alias can make a small file a huge value.
    return { value: document.toJS({ maxAliasCount: 100 }) as unknown, document, lines };
  } catch (error) {
    throw failFile(path, (error as Error).message);
  }
}

/** Names the line of the nearest value that is there. */
function failAtIssue(
  path: string,
  { document, lines }: ParsedSource,
  issue: z.core.$ZodIssue,
): WorkcrateError {
  const keys = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key));
  for (let length = keys.length; length >= 0; length--) {
    const node = document.getIn(keys.slice(0, length), true) as { range?: readonly number[] } | undefined;
    const start = node?.range?.[0];
    if (start !== undefined)
      return failFile(
        path,
        `line ${lines.linePos(start).line}: ${[keys.join('.'), issue.message].filter((part) => part !== '').join(' ')}`,
      );
  }
  return failFile(path, issue.message);
}

const failFile = (path: string, what: string): WorkcrateError =>
  new WorkcrateError('config_invalid', `The rules of the guard, ${path}: ${what}.`);
