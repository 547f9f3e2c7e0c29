/** The tool `validate_citations`. The comparison itself is in `citations/validate.ts`. */
import { z } from 'zod';
import { defineTool, type Tool } from '../../mcp/tool.ts';
import { openUserFiles } from '../user-files.ts';
import { readGivenBibliography, readDocumentText, textInputFields, type BuildToolOptions } from './build.ts';

const validationOutputSchema = z.object({
  valid: z.boolean().describe('Whether every cited key has an entry'),
  cited: z.number().int().describe('Number of different cited keys'),
  entries: z.number().int().describe('Number of entries in the bibliography'),
  missing: z.array(
    z.object({
      key: z.string(),
      count: z.number().int().describe('How often it is cited'),
      suggestions: z.array(z.string()).describe('Similar keys in the bibliography'),
    }),
  ),
  unused: z.array(z.string()).describe('Keys of entries that are not cited'),
  duplicates: z.array(z.string()).describe('Keys of more than one entry'),
});

export function validateTool(options: BuildToolOptions): Tool {
  return defineTool({
    name: 'validate_citations',
    group: 'documents',
    title: 'Check the citations of a document',
    description:
      'Compares what a document cites ([@key]) with its bibliography: keys without an entry, entries that are not cited, keys of more than one entry. Builds nothing.',
    input: z.strictObject(textInputFields),
    output: validationOutputSchema,
    annotations: { readOnlyHint: true, openWorldHint: false },
    auditFields: { subject: ['documentFile'] },
    async handle(input, context) {
      const { documents } = options;
      const from = openUserFiles(options, context);
      const text = await readDocumentText(input, from, documents.mostBytes);
      const bibliography = await readGivenBibliography(input, from, documents.mostBytes);
      const found = await documents.validate(context.caller, { text, bibliography }, context.signal);
      return { text: describeValidation(found), structured: found };
    },
  });
}

const maxKeysInText = 50;

function describeValidation({
  valid,
  cited,
  entries,
  missing,
  unused,
  duplicates,
}: z.output<typeof validationOutputSchema>): string {
  const named = missing.map(({ key, suggestions }) =>
    suggestions.length === 0 ? key : `${key} (did you mean ${suggestions.join(', ')}?)`,
  );
  const some = (keys: readonly string[]): string =>
    keys.length > maxKeysInText ? `${keys.slice(0, maxKeysInText).join(', ')} …` : keys.join(', ');
  return [
    `${cited} keys are cited, and the bibliography has ${entries} entries: ${valid ? 'every key has an entry' : 'some keys have none'}.`,
    ...(missing.length > 0 ? [`Without an entry: ${some(named)}`] : []),
    ...(unused.length > 0 ? [`Not cited: ${some(unused)}`] : []),
    ...(duplicates.length > 0 ? [`More than one entry: ${some(duplicates)}`] : []),
  ].join('\n');
}
