/**
 * What a rule of the guard is: to which calls it applies, what it looks for, what it does, and the examples that prove
 * it. The same schema is for rule files and for the shipped rules. It judges nothing (`evaluate.ts` does).
 */
import { z } from 'zod';
import { languages } from '../../ports/sandbox/sandbox.ts';

/** Before: what a call asks for. After: what it would answer. */
export const judgedTimes = ['before', 'after'] as const;
export type JudgedTime = (typeof judgedTimes)[number];

/** In the order of their weight. `redact` is for output, `record` only says so in the log. */
export const ruleActions = ['record', 'redact', 'block'] as const;
export type RuleAction = (typeof ruleActions)[number];

const maxPatternLength = 4000;
const maxNesting = 4;

const pattern = z
  .string()
  .min(1)
  .max(maxPatternLength)
  .superRefine((source, issues) => {
    try {
      compilePattern(source);
    } catch (error) {
      issues.addIssue({ code: 'custom', message: `is no regular expression: ${(error as Error).message}` });
    }
  });

/** As JavaScript has them with the flags u and m: `^` and `$` are at each line, and `(?i:…)` ignores case. */
export const compilePattern = (source: string): RegExp => new RegExp(source, 'gmu');

const globs = z.array(z.string().min(1).max(300)).min(1).max(500);

/** What is looked at. A condition has exactly one of these. */
const conditionKinds = ['any', 'all', 'code', 'argument', 'output', 'path', 'host', 'size'] as const;

export interface Condition {
  /** One of these. */
  readonly any?: readonly Condition[] | undefined;
  /** All of these. */
  readonly all?: readonly Condition[] | undefined;
  /** In code that is to run. */
  readonly code?: string | undefined;
  readonly languages?: readonly string[] | undefined;
  /** In a text among the arguments. */
  readonly argument?: string | undefined;
  /** Only in arguments whose name fits. */
  readonly name?: string | undefined;
  /** In a text of the answer. */
  readonly output?: string | undefined;
  /** A sum that every number of that kind has, and others rarely do. */
  readonly check?: 'luhn' | 'iban' | undefined;
  /** A path that code or arguments name. */
  readonly path?: readonly string[] | undefined;
  /** A host that code or arguments name. */
  readonly host?: readonly string[] | undefined;
  /** Not for these paths or hosts. */
  readonly except?: readonly string[] | undefined;
  readonly size?: 'code' | 'arguments' | 'output' | undefined;
  readonly over?: number | undefined;
}

const condition: z.ZodType<Condition> = z.lazy(() =>
  z
    .strictObject({
      any: z.array(condition).min(1).max(200).optional(),
      all: z.array(condition).min(1).max(200).optional(),
      code: pattern.optional(),
      languages: z.array(z.enum(languages)).min(1).optional(),
      argument: pattern.optional(),
      name: z.string().min(1).max(300).optional(),
      output: pattern.optional(),
      check: z.enum(['luhn', 'iban']).optional(),
      path: globs.optional(),
      host: globs.optional(),
      except: globs.optional(),
      size: z.enum(['code', 'arguments', 'output']).optional(),
      over: z.int().min(0).optional(),
    })
    .superRefine((given, issues) => {
      for (const message of findConditionFaults(given)) issues.addIssue({ code: 'custom', message });
    }),
);

function findConditionFaults(given: Condition): string[] {
  const kinds = conditionKinds.filter((kind) => given[kind] !== undefined);
  const [kind] = kinds;
  const needs: readonly [boolean, string][] = [
    [kinds.length !== 1, `needs exactly one of ${conditionKinds.join(', ')}`],
    [given.languages !== undefined && kind !== 'code', 'languages is for code'],
    [given.name !== undefined && kind !== 'argument', 'name is for argument'],
    [given.check !== undefined && kind !== 'output', 'check is for output'],
    [given.except !== undefined && kind !== 'path' && kind !== 'host', 'except is for path and host'],
    [(given.over !== undefined) !== (kind === 'size'), 'size needs over, a number of bytes'],
  ];
  return needs.filter(([isWrong]) => isWrong).map(([, message]) => message);
}

/** What a rule should find, or should not: code before, output after, or a call in full. */
const example = z.union([
  z.string().min(1),
  z.strictObject({
    language: z.enum(languages).optional(),
    code: z.string().optional(),
    arguments: z.record(z.string(), z.unknown()).optional(),
    output: z.string().optional(),
  }),
]);

export type Example = z.output<typeof example>;

export const ruleSchema = z
  .strictObject({
    id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'an id has small letters, digits and dashes'),
    when: z.enum(judgedTimes),
    /** Names of tools by glob; without it all that are sensitive. */
    tools: globs.optional(),
    match: condition,
    action: z.enum(ruleActions),
    /** Told to the caller. */
    reason: z.string().min(1).max(500),
    remedy: z.string().min(1).max(500),
    examples: z.array(example).max(200).default([]),
    counterexamples: z.array(example).max(200).default([]),
  })
  .superRefine((rule, issues) => {
    for (const message of findRuleFaults(rule)) issues.addIssue({ code: 'custom', message });
  });

export type Rule = z.output<typeof ruleSchema>;
export type RuleSource = z.input<typeof ruleSchema>;

function findRuleFaults({ when, action, match }: Pick<Rule, 'when' | 'action' | 'match'>): string[] {
  const leaves = listLeaves(match);
  const isOutput = ({ output, size }: Condition): boolean => output !== undefined || size === 'output';
  const needs: readonly [boolean, string][] = [
    [countNesting(match) > maxNesting, `any and all may be nested ${maxNesting} deep`],
    [when === 'before' && leaves.some(isOutput), 'output is known only with when: after'],
    [when === 'after' && !leaves.every(isOutput), 'with when: after only output and its size can be judged'],
    [
      action === 'redact' && !leaves.some(({ output }) => output !== undefined),
      'redact needs a pattern for output; use block or record',
    ],
  ];
  return needs.filter(([isWrong]) => isWrong).map(([, message]) => message);
}

/** The conditions of a tree that look at something. */
export function listLeaves(match: Condition): Condition[] {
  const inner = match.any ?? match.all;
  return inner === undefined ? [match] : inner.flatMap(listLeaves);
}

const countNesting = ({ any, all }: Condition): number =>
  any === undefined && all === undefined ? 0 : 1 + Math.max(...(any ?? all)!.map(countNesting));
