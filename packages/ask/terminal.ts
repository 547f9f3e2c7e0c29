/**
 * Asks the person at the terminal for `workcrate ask`: whether a call may be made, and what the server wants to know.
 * Texts of others are shown without what a terminal would act on.
 */
import { createInterface } from 'node:readline/promises';
import type { ElicitRequestParams, ElicitResult, Tool } from '@modelcontextprotocol/client';
import { createGlob, escapeControls, toPlainJson } from 'workcrate/toolkit';

/** Asks one question; null where the input has ended. */
export type AskPerson = (question: string) => Promise<string | null>;

/** Null where nobody is there to answer. */
export function findTerminal(signal: AbortSignal): AskPerson | null {
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY) return null;
  return async (question) => {
    const lines = createInterface({ input: stdin, output: stderr });
    const ended = new Promise<null>((resolve) => lines.once('close', () => resolve(null)));
    // In a terminal that is being read from, Ctrl-C is a character.
    lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    try {
      return await Promise.race([lines.question(question, { signal }), ended]);
    } finally {
      lines.close();
    }
  };
}

export type Approve = (tool: Tool, input: Readonly<Record<string, unknown>>) => Promise<boolean>;

/** People have to see what they allow; what is longer than this is refused by most of them anyway. */
const maxShownInput = 8000;

/** Allows what fits a glob; asks for the rest; refuses it where nobody can be asked. */
export function createApproval(globs: readonly string[], ask: AskPerson | null): Approve {
  const fits = globs.map(createGlob);
  const always = new Set<string>();
  return async ({ name }, input) => {
    if (always.has(name) || fits.some((fit) => fit(name))) return true;
    if (ask === null) return false;
    const answer = await ask(`Allow ${name} ${formatInput(input)}\n[y]es, [n]o, [a]lways in this run? `);
    if (/^a(?:lways)?$/i.test(answer ?? '')) always.add(name);
    return /^(?:y|yes|a|always)$/i.test(answer?.trim() ?? '');
  };
}

function formatInput(input: Readonly<Record<string, unknown>>): string {
  const text = toPlainJson(input, 2);
  const left = text.length - maxShownInput;
  return left <= 0 ? text : `${text.slice(0, maxShownInput)}\n(${left} characters are not shown)`;
}

/** Answers a question of the server: a form field by field, or a page to open. */
export function createAnswers(ask: AskPerson): (question: ElicitRequestParams) => Promise<ElicitResult> {
  return async (question) => {
    const shown = `The server asks: ${escapeControls(question.message)}`;
    if (question.mode === 'url')
      return isYes(await ask(`${shown}\nOpen ${escapeControls(question.url)} and go on? [y/n] `))
        ? { action: 'accept' }
        : { action: 'decline' };
    if (!isYes(await ask(`${shown}\nAnswer? [y/n] `))) return { action: 'decline' };
    const { properties, required = [] } = question.requestedSchema;
    const content: Record<string, string | number | boolean | string[]> = {};
    for (const [name, field] of Object.entries(properties)) {
      const value = await askField(ask, name, field, required.includes(name));
      if (value === 'ended') return { action: 'cancel' };
      if (value !== null) content[name] = value.given;
    }
    return { action: 'accept', content };
  };
}

const isYes = (answer: string | null): boolean => /^y(?:es)?$/i.test(answer?.trim() ?? '');

type Form = Extract<ElicitRequestParams, { requestedSchema: unknown }>['requestedSchema'];
type FormField = Form['properties'][string];
type GivenValue = { readonly given: string | number | boolean | string[] };

/** Nobody types a wrong value more often. */
const maxTries = 5;

/** Null where it was left out. */
async function askField(
  ask: AskPerson,
  name: string,
  field: FormField,
  isRequired: boolean,
): Promise<GivenValue | null | 'ended'> {
  const choices = listChoices(field);
  const about = [
    field.title ?? name,
    field.description ?? '',
    choices.length > 0 ? choices.join(', ') : field.type,
  ]
    .filter((part) => part !== '')
    .map(escapeControls)
    .join('; ');
  for (let count = 0; count < maxTries; count++) {
    const answer = await ask(`${about}${isRequired ? '' : ' (may be left out)'}: `);
    if (answer === null) return 'ended';
    if (answer.trim() === '' && !isRequired) return null;
    const value = readField(field, answer.trim(), choices);
    if (value !== null) return value;
  }
  return 'ended';
}

const listChoices = (field: FormField): string[] =>
  'enum' in field && Array.isArray(field.enum) ? field.enum.map(String) : [];

/** Null where the text is no value of the field. */
function readField(field: FormField, text: string, choices: readonly string[]): GivenValue | null {
  if (choices.length > 0) return choices.includes(text) ? { given: text } : null;
  switch (field.type) {
    case 'boolean':
      return /^(?:y|yes|true|n|no|false)$/i.test(text) ? { given: /^[yt]/i.test(text) } : null;
    case 'integer':
    case 'number': {
      const given = Number(text);
      const isRight = text !== '' && Number.isFinite(given);
      return isRight && (field.type === 'number' || Number.isInteger(given)) ? { given } : null;
    }
    case 'array':
      return { given: text.split(',').map((part) => part.trim()) };
    default:
      return { given: text };
  }
}
