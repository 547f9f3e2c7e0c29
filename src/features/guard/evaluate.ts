/**
 * Looks which rules a call or an answer fits, and blanks what they find in output. It is pure and may take for ever with
 * a pattern that does: `rule-thread.ts` runs it where it can be ended. It decides nothing (`guard.ts` does).
 */
import { createGlob } from '../../platform/text/glob.ts';
import { compilePattern, listLeaves, type Condition, type Rule } from './rule.ts';
import { findHosts, findPaths, toCodeViews, toPlainText } from './views.ts';

/** A text among the arguments of a call. */
export interface NamedText {
  /** Its place, such as `options.url`. */
  readonly name: string;
  readonly text: string;
}

/** What is looked at, without what is not there. */
export interface GuardInput {
  readonly language: string | null;
  readonly code: string | null;
  readonly texts: readonly NamedText[];
  readonly outputs: readonly string[];
}

/** A rule that fits, and how often. */
export interface RuleHit {
  readonly id: string;
  readonly count: number;
}

export interface Evaluation {
  readonly hits: readonly RuleHit[];
  /** The outputs, with what rules redact blanked. */
  readonly outputs: readonly string[];
}

export type CompiledRule = ReturnType<typeof compileRule>;

type Test = (facts: Facts) => number;

/** A rule, ready to be tried on any number of calls. */
export function compileRule(rule: Pick<Rule, 'id' | 'match' | 'action'>) {
  const leaves = listLeaves(rule.match).filter(({ output }) => output !== undefined);
  return {
    id: rule.id,
    test: compileCondition(rule.match),
    redactions: rule.action === 'redact' ? leaves.map(compileOutput) : [],
  };
}

/** Tries rules in their order. What one has redacted, the next one does not see. */
export function evaluateRules(rules: readonly CompiledRule[], input: GuardInput): Evaluation {
  const facts = collectFacts(input);
  let { outputs } = input;
  const hits: RuleHit[] = [];
  for (const { id, test, redactions } of rules) {
    const count = test({ ...facts, outputs });
    if (count === 0) continue;
    hits.push({ id, count });
    if (redactions.length > 0) outputs = outputs.map((text) => redactText(redactions, text, id));
  }
  return { hits, outputs };
}

interface Facts extends GuardInput {
  readonly views: readonly string[];
  /** Worked out when the first rule asks for them. */
  readonly paths: () => readonly string[];
  readonly hosts: () => readonly string[];
}

function collectFacts(input: GuardInput): Facts {
  const views = input.code === null ? [] : toCodeViews(input.code, input.language);
  const all = [...views, ...input.texts.map(({ text }) => toPlainText(text))];
  const bare = input.texts
    .filter(({ name }) => hostArgument.test(name))
    .map(({ text }) => text.toLowerCase());
  return {
    ...input,
    views,
    paths: rememberFirst(() => all.flatMap(findPaths)),
    hosts: rememberFirst(() => [...all.flatMap(findHosts), ...bare]),
  };
}

/** Arguments that are a host by themselves. */
const hostArgument = /(?:^|\.)(?:host|hostname|domain|network(?:\.\d+)?)$/i;

function rememberFirst<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function compileCondition(condition: Condition): Test {
  const { any, all, code, argument, output, path, host, size } = condition;
  if (any !== undefined) {
    const tests = any.map(compileCondition);
    return (facts) => tests.reduce((sum, test) => sum + test(facts), 0);
  }
  if (all !== undefined) {
    const tests = all.map(compileCondition);
    return (facts) => (tests.every((test) => test(facts) > 0) ? 1 : 0);
  }
  if (code !== undefined) return compileCode(code, condition.languages ?? null);
  if (argument !== undefined) return compileArgument(argument, condition.name ?? null);
  if (output !== undefined) return compileOutputTest(condition);
  if (size !== undefined) return (facts) => (measure(size, facts) > condition.over! ? 1 : 0);
  const globs = (path ?? host)!.map((glob) => createGlob(trimSlash(glob)));
  const except = (condition.except ?? []).map((glob) => createGlob(trimSlash(glob)));
  const isNamed = (name: string): boolean => {
    const bare = trimSlash(name);
    return globs.some((glob) => glob(bare)) && !except.some((glob) => glob(bare));
  };
  return ({ paths, hosts }) => (path === undefined ? hosts() : paths()).filter(isNamed).length;
}

/** `/etc/passwd` and the pattern for it are compared from their first name on. */
const trimSlash = (path: string): string => path.replace(/^\//, '');

function compileCode(source: string, languages: readonly string[] | null): Test {
  const wanted = compilePattern(source);
  return ({ views, language }) => {
    // Where nobody knows the language, it may be any.
    if (languages !== null && language !== null && !languages.includes(language)) return 0;
    return Math.max(0, ...views.map((view) => countMatches(wanted, view)));
  };
}

function compileArgument(source: string, name: string | null): Test {
  const wanted = compilePattern(source);
  const isNamed = name === null ? () => true : createGlob(name);
  return ({ texts }) =>
    texts
      .filter((text) => isNamed(text.name))
      .reduce(
        (sum, { text }) => sum + Math.max(...listForms(text).map((form) => countMatches(wanted, form))),
        0,
      );
}

const listForms = (text: string): string[] => {
  const plain = toPlainText(text);
  return plain === text ? [text] : [text, plain];
};

/** Of patterns that match nothing at all, one match is enough. */
const maxCounted = 1000;

function countMatches(wanted: RegExp, text: string): number {
  let count = 0;
  for (const _ of text.matchAll(wanted)) if (++count >= maxCounted) break;
  return count;
}

function compileOutputTest(condition: Condition): Test {
  const { wanted, isReal } = compileOutput(condition);
  const count = (text: string): number => {
    let found = 0;
    for (const [match] of text.matchAll(wanted)) if (isReal(match) && ++found >= maxCounted) break;
    return found;
  };
  return ({ outputs }) => outputs.reduce((sum, text) => sum + Math.max(...listForms(text).map(count)), 0);
}

type OutputPattern = ReturnType<typeof compileOutput>;

function compileOutput({ output, check }: Condition) {
  return { wanted: compilePattern(output!), isReal: check === undefined ? () => true : checks[check] };
}

/** What is found only in the plain form has no place in the text as it is: then all of it is blanked. */
function redactText(patterns: readonly OutputPattern[], text: string, id: string): string {
  const mark = `[redacted: ${id}]`;
  let shown = text;
  for (const { wanted, isReal } of patterns)
    shown = shown.replaceAll(wanted, (match) => (isReal(match) ? mark : match));
  const plain = toPlainText(shown);
  const isHidden = ({ wanted, isReal }: OutputPattern): boolean =>
    plain.matchAll(wanted).some(([match]) => isReal(match));
  return plain !== shown && patterns.some(isHidden) ? mark : shown;
}

function measure(what: NonNullable<Condition['size']>, { code, texts, outputs }: GuardInput): number {
  if (what === 'code') return Buffer.byteLength(code ?? '');
  const measured = what === 'output' ? outputs : texts.map(({ text }) => text);
  return measured.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

const checks: Readonly<Record<NonNullable<Condition['check']>, (text: string) => boolean>> = {
  luhn(text) {
    const digits = text.replaceAll(/\D/g, '');
    let sum = 0;
    for (const [at, digit] of digits.split('').toReversed().entries()) {
      const value = Number(digit) * (at % 2 === 0 ? 1 : 2);
      sum += value > 9 ? value - 9 : value;
    }
    return digits.length >= 12 && sum % 10 === 0 && !/^(\d)\1*$/.test(digits);
  },
  iban(text) {
    const bare = text.replaceAll(/[^A-Za-z0-9]/g, '').toUpperCase();
    let rest = 0;
    for (const character of bare.slice(4) + bare.slice(0, 4))
      for (const digit of String(Number.parseInt(character, 36))) rest = (rest * 10 + Number(digit)) % 97;
    return rest === 1;
  },
};
