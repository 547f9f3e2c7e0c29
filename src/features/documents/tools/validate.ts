/** The tool `validate_citations`. The comparison itself is in `citations/validate.ts`. */
import { z } from 'zod';
import { hideArguments } from '../../../core/offer/schema.ts';
import { declareTool } from '../../../core/offer/tool.ts';
import { quoteName } from '../../../platform/text/text.ts';
import { openUserFiles } from '../user-files.ts';
import { readGivenBibliography, readDocumentText, textInputFields, type BuildRoom } from './build.ts';

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

type MissingKey = z.output<typeof validationOutputSchema>['missing'][number];

export const validateTool = declareTool({
  name: 'validate_citations',
  group: 'documents',
  title: 'Check the citations of a document',
  description:
    'Check the citations ([@key]) of a Markdown document against its bibliography: keys without an entry, entries not cited, duplicate keys.',
  input: hideArguments(z.strictObject(textInputFields), ['bibliographyFormat']),
  output: validationOutputSchema,
  annotations: { readOnlyHint: true, openWorldHint: false },
  auditFields: { subject: ['documentFile'] },
  async handle(room: BuildRoom, input, context) {
    const { documents } = room;
    const from = openUserFiles(room, context);
    const text = await readDocumentText(input, from, documents.mostBytes);
    const bibliography = await readGivenBibliography(input, from, documents.mostBytes);
    const found = await documents.validate(context.caller, { text, bibliography }, context.signal);
    return { text: describeDocumentCheck(found), structured: found };
  },
});

const maxKeysInText = 50;

function describeDocumentCheck(found: z.output<typeof validationOutputSchema>): string {
  const { valid, cited, entries, missing, unused, duplicates } = found;
  return [
    `${cited} keys are cited, and the bibliography has ${entries} entries: ${valid ? 'every key has an entry' : 'some keys have none'}.`,
    ...describeCitationKeys('Without an entry', missing.map(describeMissingKey)),
    ...describeCitationKeys('Not cited', unused.map(quoteName)),
    ...describeCitationKeys('More than one entry', duplicates.map(quoteName)),
  ].join('\n');
}

function describeMissingKey({ key, count, suggestions }: MissingKey): string {
  const similar = suggestions.length === 0 ? '' : `; did you mean ${suggestions.map(quoteName).join(', ')}?`;
  return `${quoteName(key)} (cited ${count}×${similar})`;
}

function describeCitationKeys(what: string, keys: readonly string[]): string[] {
  if (keys.length === 0) return [];
  const more = keys.length - maxKeysInText;
  return [`${what}: ${keys.slice(0, maxKeysInText).join(', ')}${more > 0 ? ` and ${more} more` : ''}`];
}
