/**
 * The tools `save_script`, `get_script`, `list_scripts`, `search_scripts` and `delete_script`; `run_script` is in
 * `run-tool.ts`. They translate between MCP and `scripts.ts`. The texts are in `text.ts`, the schemas in `schema.ts`.
 */
import { z } from 'zod';
import { makeText, makeWholeNumber } from '../../core/offer/schema.ts';
import { declareTool, type DeclaredTool } from '../../core/offer/tool.ts';
import { languages } from '../../ports/sandbox/sandbox.ts';
import { declareRunScriptTool, type RunScriptRoom, type RunScriptTerms } from './run-tool.ts';
import {
  pageInput,
  scriptPageShape,
  saveInput,
  scriptReference,
  scriptShape,
  showScript,
  wholeScriptShape,
} from './schema.ts';
import type { ScriptPage, Scripts } from './scripts.ts';
import { cutCode, describeDeleted, describeScriptPage, describeSaved, describeWhole } from './text.ts';

export type { FindMissingPackages } from './run-tool.ts';

/** What these tools work on. */
export interface ScriptsRoom extends RunScriptRoom {
  readonly scripts: Scripts;
}

const readOnlyAnnotations = { readOnlyHint: true, openWorldHint: false };

const saveScriptTool = declareTool({
  name: 'save_script',
  group: 'scripts',
  title: 'Save a script',
  description:
    'Keeps code under a name, to run it again with run_script. A name that exists gets a new version; the earlier ones stay.',
  searchHint: 'reuse code, snippet, save for later',
  input: saveInput,
  output: scriptShape,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  auditFields: { subject: ['name'] },
  async handle(
    { scripts }: ScriptsRoom,
    { language = null, code = null, source_execution_id = null, ...wanted },
    { caller },
  ) {
    const sourceExecution = source_execution_id;
    const saved = await scripts.save(caller, { ...wanted, language, code, sourceExecution });
    return { text: describeSaved(saved), structured: showScript(saved) };
  },
});

const getTool = declareTool({
  name: 'get_script',
  group: 'scripts',
  title: 'Show a script',
  description: 'Shows the code of a script, its versions, and how it ran.',
  input: z.strictObject({
    name: scriptReference,
    code_from: makeWholeNumber(0, 10_000_000, 'Of long code, the part from here on').optional(),
  }),
  output: wholeScriptShape,
  annotations: readOnlyAnnotations,
  auditFields: { subject: ['name'] },
  async handle({ scripts, outputBounds }: ScriptsRoom, { name, code_from = 0 }, { caller }) {
    const whole = await scripts.get(caller, name);
    const part = cutCode(whole.code, code_from, outputBounds.most);
    const structured = {
      ...showScript(whole),
      runs_of_version: whole.runs,
      all_versions: [...whole.allVersions],
      code: part.text,
      code_from: part.from,
      code_next: part.next,
    };
    return { text: describeWhole(whole, part), structured };
  },
});

const toPageAnswer = (page: ScriptPage, tool: string) => ({
  text: describeScriptPage(page, tool),
  structured: { scripts: page.scripts.map(showScript), next: page.next },
});

const listScriptsTool = declareTool({
  name: 'list_scripts',
  group: 'scripts',
  title: 'List scripts',
  description: 'Lists your scripts by name, each with its latest version.',
  input: z.strictObject(pageInput),
  output: scriptPageShape,
  annotations: readOnlyAnnotations,
  auditFields: { subject: [] },
  handle: async ({ scripts }: ScriptsRoom, input, { caller }) =>
    toPageAnswer(await scripts.find(caller, input), 'list_scripts'),
});

const searchScriptsTool = declareTool({
  name: 'search_scripts',
  group: 'scripts',
  title: 'Search scripts',
  description: 'Finds your scripts by a text in their name, description, tags or code.',
  input: z.strictObject({
    text: makeText(500, 'In any case').optional(),
    language: z.enum(languages).optional(),
    tag: makeText(40).optional(),
    ...pageInput,
  }),
  output: scriptPageShape,
  annotations: readOnlyAnnotations,
  auditFields: { subject: [] },
  handle: async ({ scripts }: ScriptsRoom, input, { caller }) =>
    toPageAnswer(await scripts.find(caller, input), 'search_scripts'),
});

const deleteTool = declareTool({
  name: 'delete_script',
  group: 'scripts',
  title: 'Delete a script',
  description: 'Deletes a script with all its versions, or one version of it.',
  input: z.strictObject({ name: scriptReference }),
  output: z.object({ name: z.string(), deleted: z.array(z.number()), left: z.number() }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  auditFields: { subject: ['name'] },
  async handle({ scripts }: ScriptsRoom, { name: named }, { caller }) {
    const { name, deleted, left } = await scripts.delete(caller, named);
    return { text: describeDeleted(name, deleted, left), structured: { name, deleted, left } };
  },
});

export const declareScriptTools = (terms: RunScriptTerms): readonly DeclaredTool<ScriptsRoom>[] => [
  saveScriptTool,
  getTool,
  listScriptsTool,
  searchScriptsTool,
  declareRunScriptTool(terms),
  deleteTool,
];
