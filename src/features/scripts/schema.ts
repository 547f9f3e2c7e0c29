/** Scripts in JSON: what the tools take, and what they answer. It reads no rows. */
import { z } from 'zod';
import { codeText, executionId } from '../../core/runs/schema.ts';
import { listAs, makeText, makeWholeNumber } from '../../core/offer/schema.ts';
import { languages } from '../../ports/sandbox/sandbox.ts';
import { parseScriptReference, scriptNameForm, scriptNameRule } from './names.ts';
import type { FoundScript } from './store.ts';

const scriptName = z
  .string()
  .refine((text) => scriptNameForm.test(text), scriptNameRule)
  .describe('At most 64 letters, digits, . - _');

/** `plot` or `plot@3`. */
export const scriptReference = z
  .string()
  .refine((text) => parseScriptReference(text) !== null, `${scriptNameRule}; @3 behind it names version 3`)
  .describe('name, or name@3 for version 3');

const tagForm = /^[\p{L}\p{N}][\p{L}\p{N} ._:-]{0,39}$/u;
/** As `import` and package managers know them; never an option, a path, a URL or a version range. */
const packageForm = /^(?:@[a-z0-9][\w.-]{0,50}\/)?[A-Za-z0-9_][\w.-]{0,99}$/;

const makeList = (form: RegExp, most: number, rule: string, description: string) =>
  listAs(
    z
      .array(z.string().refine((text) => form.test(text), rule))
      .refine((list) => list.length <= most, `at most ${most}`)
      .transform((list) => [...new Set(list)])
      .default([]),
    { type: 'array', items: { type: 'string' }, description },
  );

export const saveInput = z.strictObject({
  name: scriptName,
  description: makeText(1000, 'What it does, and which args it takes'),
  language: z.enum(languages).optional(),
  code: codeText.optional().describe('Reads its args as JSON from stdin'),
  tags: makeList(tagForm, 20, 'a tag has 1 to 40 letters, digits, spaces and . _ : -', 'Words to find it by'),
  packages: makeList(
    packageForm,
    50,
    'a package is given by its name alone, such as pandas or @scope/name, without a version',
    'Python or Node packages that it imports',
  ),
  source_execution_id: executionId.optional().describe('A run to take code and language from'),
});

export const pageInput = {
  limit: makeWholeNumber(1, 100, 'Default 50, at most 100').optional(),
  after: z
    .string()
    .refine((text) => scriptNameForm.test(text), 'after takes the `next` of the page before')
    .optional()
    .describe('The next of the page before'),
};

const lastRunShape = z.object({
  execution_id: z.string(),
  version: z.number(),
  at: z.string(),
  outcome: z.string().describe('ok, exit code N, why else it ended, or running'),
});

export const scriptShape = z.object({
  name: z.string(),
  version: z.number(),
  latest: z.number().describe('Of its versions'),
  versions: z.number().describe('How many there are'),
  description: z.string(),
  language: z.enum(languages),
  size: z.number().describe('Bytes of its code'),
  tags: z.array(z.string()),
  packages: z.array(z.string()),
  source_execution_id: z.string().nullable(),
  created_at: z.string(),
  runs: z.number().describe('Of all versions'),
  last_run: lastRunShape.nullable(),
});

const toIso = (time: number): string => new Date(time).toISOString();

export function showScript(found: FoundScript): z.input<typeof scriptShape> {
  const { script } = found;
  const { lastRun } = script;
  return {
    name: found.name,
    version: found.version,
    latest: script.latest,
    versions: script.versions,
    description: found.description,
    language: found.language,
    size: found.codeBytes,
    tags: [...found.tags],
    packages: [...found.packages],
    source_execution_id: found.sourceExecution,
    created_at: toIso(found.createdAt),
    runs: script.runs,
    last_run: lastRun && {
      execution_id: lastRun.executionId,
      version: lastRun.version,
      at: toIso(lastRun.at),
      outcome: lastRun.outcome,
    },
  };
}

export const wholeScriptShape = scriptShape.extend({
  runs_of_version: z.number(),
  all_versions: z.array(z.number()),
  code: z.string().describe('From code_from on'),
  code_from: z.number(),
  code_next: z.number().nullable().describe('The code_from to go on with; null at the end'),
});

export const scriptPageShape = z.object({ scripts: z.array(scriptShape), next: z.string().nullable() });
