/** The tool pack_crate. Packing itself is in `pack/`. */
import { z } from 'zod';
import { externalLinkShape, toLinkAnswer } from '../../links/link-result.ts';
import { defineTool, type Tool } from '../../mcp/tool.ts';
import { programName } from '../../program.ts';
import { textSchema } from './schema.ts';
import { formatLocator } from './search-text.ts';
import type { CrateShareToolsOptions } from './share.ts';

const orcidPattern = /^(?:https:\/\/orcid\.org\/)?\d{4}-\d{4}-\d{4}-\d{3}[\dX]$/;

const authorSchema = z.strictObject({
  name: textSchema(500),
  orcid: z
    .string()
    .refine((text) => orcidPattern.test(text), 'an ORCID looks like 0000-0002-1825-0097')
    .optional(),
  affiliation: textSchema(500).optional(),
});

/** A list with a limit that its JSON schema does not mention. */
const listSchema = <Item extends z.ZodType>(item: Item, most: number) =>
  z.array(item).refine(({ length }) => length <= most, `takes at most ${most}`);

/** The tool that makes a crate of a run or of files. */
export function createPackCrateTool({ crates, fileTtl, maxTtl, baseUrl }: CrateShareToolsOptions): Tool {
  const ttl = z.number().int().min(1).max(maxTtl).default(Math.min(fileTtl, maxTtl));
  return defineTool({
    name: 'pack_crate',
    group: 'crates',
    title: 'Pack a run or files as a crate',
    description: `Pack a run (code, inputs, results, output, times) or stored files as an RO-Crate with provenance, kept and found by search_index; \`${programName} replay\` runs it again. Answers with a link.`,
    input: z.strictObject({
      execution_id: z
        .string()
        .refine((id) => /^exec_[0-9a-f]{12}$/.test(id), 'an execution_id looks like exec_ and 12 hex digits')
        .optional()
        .describe('The run to pack'),
      file_ids: listSchema(
        z
          .string()
          .refine((id) => /^file_[0-9a-f]{24}$/.test(id), 'a file_id looks like file_ and 24 hex digits'),
        10_000,
      )
        .optional()
        .describe('Stored files to pack, alone or with the run'),
      title: textSchema(500).optional(),
      description: textSchema(20_000).optional(),
      license: textSchema(500).optional().describe('URL or SPDX id, such as CC-BY-4.0'),
      keywords: listSchema(textSchema(200), 100).optional(),
      authors: listSchema(authorSchema, 100).optional().describe('Default: you'),
      shared: z.boolean().default(false).describe('All users can find it; default: only you'),
      ttl_seconds: ttl.describe('How long the link lives'),
    }),
    output: externalLinkShape.extend({
      crate_id: z.string(),
      resource_locator: z.string(),
      notes: z.array(z.string()),
    }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    auditFields: { subject: ['execution_id'], made: ['filename'], files: ['file_ids'], newToken: 'token' },
    async handle({ ttl_seconds, execution_id, file_ids, ...rest }, { caller, signal, progress }) {
      const request = { ...rest, executionId: execution_id ?? null, fileIds: file_ids ?? [] };
      const terms = { ttlSeconds: ttl_seconds, singleUse: false };
      const watching = { signal, report: () => {} };
      const { crateId, locator, notes, shared } = await crates.pack(
        caller,
        request,
        { signal, progress },
        async (packed) => {
          const download = crates.inside.download(caller, packed.crateId, terms, watching, packed.sha256);
          return { ...packed, shared: (await download).shared };
        },
      );
      const answer = toLinkAnswer(shared, baseUrl());
      return {
        ...answer,
        text: [
          `Packed as ${crateId}, at ${formatLocator(locator)}`,
          answer.text,
          ...notes.map((note) => `Note: ${note}`),
        ].join('\n'),
        structured: { ...answer.structured, crate_id: crateId, resource_locator: locator, notes: [...notes] },
      };
    },
  });
}
