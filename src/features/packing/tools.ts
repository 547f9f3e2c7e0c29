/** The tool pack_crate. Packing itself is in `packing.ts` and `pack.ts`. */
import { z } from 'zod';
import { externalLinkShape, toLinkAnswer } from '../../core/links/link-result.ts';
import { listAs, makeText } from '../../core/offer/schema.ts';
import { declareTool, type DeclaredTool } from '../../core/offer/tool.ts';
import { programName } from '../../platform/program.ts';
import type { CratesRoom, CrateTerms } from '../crates/feature.ts';
import { redactCrateTools } from '../crates/tools/redact-folders.ts';
import { formatLocator, makeCount } from '../crates/tools/schema.ts';
import type { Packing } from './packing.ts';
import { crateSpecificationVersions } from './specification.ts';

const orcidPattern = /^(?:https:\/\/orcid\.org\/)?\d{4}-\d{4}-\d{4}-\d{3}[\dX]$/;

const authorSchema = z.strictObject({
  name: makeText(500),
  orcid: listAs(z.string().regex(orcidPattern, 'an ORCID looks like 0000-0002-1825-0097'), {
    type: 'string',
  }).optional(),
  affiliation: makeText(500).optional(),
});

/** Listed without their forms and limits. */
const packedRunId = z
  .string()
  .regex(/^exec_[0-9a-f]{12}$/, 'an execution_id looks like exec_ and 12 hex digits');
const executionIdSchema = listAs(packedRunId, { type: 'string', description: 'The run to pack' });
const executionIdsSchema = listAs(z.array(packedRunId).max(10_000), {
  type: 'array',
  items: { type: 'string' },
  description: 'Runs that belong together, as steps of one crate',
});
const fileIdsSchema = listAs(
  z
    .array(z.string().regex(/^file_[0-9a-f]{24}$/, 'a file_id looks like file_ and 24 hex digits'))
    .max(10_000),
  {
    type: 'array',
    items: { type: 'string' },
    description: 'Stored files to pack, alone or with runs',
  },
);
const keywordsSchema = listAs(z.array(makeText(200)).max(100), { type: 'array', items: { type: 'string' } });
const maxPackAuthors = 100;
const authorsSchema = z
  .array(authorSchema)
  .refine(({ length }) => length <= maxPackAuthors, `takes at most ${maxPackAuthors}`)
  .describe('Default: you');

export interface PackingRoom extends CratesRoom {
  readonly packing: Packing;
}

export const declarePackTools = (terms: CrateTerms): DeclaredTool<PackingRoom>[] =>
  redactCrateTools([declarePackCrateTool(terms)]);

/** The tool that makes a crate of runs or of files. */
function declarePackCrateTool({ hasRemoteSources, usesEmbeddingsApi, fileTtl, maxTtl }: CrateTerms) {
  return declareTool({
    name: 'pack_crate',
    searchHint: 'ro-crate, reproducible, provenance, archive a result',
    group: 'crates',
    title: 'Pack runs or files as a crate',
    description: `Pack a run, several runs or a session (code, inputs, results, output, times) or stored files as an RO-Crate with provenance, kept and found by search_index; \`${programName} replay\` runs it again. Answers with a link.`,
    input: z.strictObject({
      execution_id: executionIdSchema.optional(),
      execution_ids: executionIdsSchema.optional(),
      session_id: makeText(64, 'A session to pack, by id or name').optional(),
      file_ids: fileIdsSchema.optional(),
      title: makeText(500).optional(),
      description: makeText(20_000).optional(),
      license: makeText(500, 'URL or SPDX id, such as CC-BY-4.0').optional(),
      keywords: keywordsSchema.optional(),
      authors: authorsSchema.optional(),
      shared: listAs(z.boolean().default(false), {
        type: 'boolean',
        description: 'All users can find it; default: only you',
      }),
      specification: listAs(z.enum(crateSpecificationVersions).default('1.1'), {
        type: 'string',
        enum: [...crateSpecificationVersions],
        description: 'RO-Crate version; default 1.1, which most programs read',
      }),
      ttl_seconds: makeCount(1, maxTtl, Math.min(fileTtl, maxTtl), 'How long the link lives'),
    }),
    output: externalLinkShape.extend({
      crate_id: z.string(),
      resource_locator: z.string(),
      notes: z.array(z.string()),
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: hasRemoteSources || usesEmbeddingsApi,
    },
    mayBeTask: true,
    auditFields: {
      subject: ['execution_id', 'session_id'],
      made: ['filename'],
      files: ['execution_ids', 'file_ids'],
      newToken: 'token',
    },
    async handle(
      { crates, packing, baseUrl }: PackingRoom,
      { ttl_seconds, execution_id, execution_ids = [], session_id: sessionId, ...more },
      context,
    ) {
      const { file_ids, ...rest } = more;
      const { caller, signal, progress } = context;
      const executionIds = execution_id === undefined ? execution_ids : [execution_id, ...execution_ids];
      const request = { ...rest, executionIds, sessionId, fileIds: file_ids ?? [] };
      const terms = { ttlSeconds: ttl_seconds, singleUse: false };
      const watching = { signal, report: () => {} };
      const { crateId, locator, notes, shared } = await packing.pack(
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
