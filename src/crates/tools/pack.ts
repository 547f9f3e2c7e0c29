/**
 * The tools that change something: pack_crate and sync_index; and index_status. Packing itself is in `pack/`, syncing in
 * `sync/`.
 */
import { z } from 'zod';
import { externalLinkShape, toLinkAnswer } from '../../links/link-result.ts';
import { defineTool, type Tool } from '../../mcp/tool.ts';
import { programName } from '../../program.ts';
import type { SourceReport } from '../sync/sync.ts';
import type { CrateShareToolsOptions } from './share.ts';

/** Tools that pack crates, and update the index. */
export function createPackTools(options: CrateShareToolsOptions): Tool[] {
  return [createPackCrateTool(options), createSyncIndexTool(options), createIndexStatusTool(options)];
}

const authorSchema = z.strictObject({
  name: z.string().min(1).max(500),
  orcid: z
    .string()
    .regex(
      /^(?:https:\/\/orcid\.org\/)?\d{4}-\d{4}-\d{4}-\d{3}[\dX]$/,
      'an ORCID looks like 0000-0002-1825-0097',
    )
    .optional(),
  affiliation: z.string().min(1).max(500).optional(),
});

function createPackCrateTool({ crates, fileTtl, maxTtl, baseUrl }: CrateShareToolsOptions): Tool {
  const ttl = z.number().int().min(1).max(maxTtl).default(Math.min(fileTtl, maxTtl));
  return defineTool({
    name: 'pack_crate',
    group: 'crates',
    title: 'Pack a run or files as a crate',
    description: `Packs an execution (its code, inputs, results, output, times) or stored files as an RO-Crate with its provenance. search_index finds it at once. It is kept and can be run again (${programName} replay). The answer has a link to it.`,
    input: z.strictObject({
      execution_id: z
        .string()
        .regex(/^exec_[0-9a-f]{12}$/, 'an execution_id looks like exec_ and 12 hex digits')
        .optional()
        .describe('The run to pack'),
      file_ids: z
        .array(z.string().regex(/^file_[0-9a-f]{24}$/, 'a file_id looks like file_ and 24 hex digits'))
        .max(10_000)
        .optional()
        .describe('Stored files to pack; with an execution, in addition to what it made'),
      title: z.string().min(1).max(500).optional(),
      description: z.string().min(1).max(20_000).optional(),
      license: z.string().min(1).max(500).optional().describe('URL or SPDX id, such as CC-BY-4.0'),
      keywords: z.array(z.string().min(1).max(200)).max(100).optional(),
      authors: z.array(authorSchema).max(100).optional().describe('Default: the user who packs it'),
      shared: z
        .boolean()
        .default(false)
        .describe('true: all users of this server can find it; false: only you'),
      ttl_seconds: ttl.describe(`How long the link is valid, at most ${maxTtl} seconds`),
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
        text: [`Packed as ${crateId}. ${answer.text}`, ...notes].join('\n'),
        structured: { ...answer.structured, crate_id: crateId, resource_locator: locator, notes: [...notes] },
      };
    },
  });
}

const nullableCountSchema = z.number().int().nullable();

const sourceReportSchema = z.object({
  source: z.string(),
  state: z.enum(['ok', 'unreachable']),
  reason: z.string().nullable(),
  seen: nullableCountSchema.describe(
    'Null for the source with the packed crates of all users; index_status counts yours',
  ),
  read: nullableCountSchema,
  unchanged: nullableCountSchema,
  broken: nullableCountSchema,
  removed: nullableCountSchema,
});

const hiddenCounts = { seen: null, read: null, unchanged: null, broken: null, removed: null };

function createSyncIndexTool({ crates }: CrateShareToolsOptions): Tool {
  return defineTool({
    name: 'sync_index',
    group: 'crates',
    title: 'Update the index of crates',
    description:
      'Checks all crate sources: reads crates that are new or have changed, and removes those that are gone from the index. index_status lists crates that cannot be read.',
    input: z.strictObject({}),
    output: z.object({ sources: z.array(sourceReportSchema) }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    auditFields: { subject: [] },
    async handle(_input, { signal, progress }) {
      let done = 0;
      const reports = await crates.sync({
        signal,
        report: (now: SourceReport) =>
          crates.isOfSeveral(now.source) ? undefined : progress(++done, null, formatSourceReport(now)),
      });
      const sources = reports.map((one) =>
        crates.isOfSeveral(one.source) ? { ...one, ...hiddenCounts } : one,
      );
      return {
        text: sources.map(formatSourceReport).join('\n') || 'There are no crate sources.',
        structured: { sources },
      };
    },
  });
}

function formatSourceReport(report: z.input<typeof sourceReportSchema>): string {
  const { source, state, reason, seen, read, unchanged, broken, removed } = report;
  if (state === 'unreachable') return `${source}: ${reason}`;
  if (seen === null) return `${source}: packed crates, up to date`;
  return `${source}: ${seen} crates, ${read} read, ${unchanged} unchanged, ${broken} broken, ${removed} removed`;
}

function createIndexStatusTool({ crates }: CrateShareToolsOptions): Tool {
  return defineTool({
    name: 'index_status',
    group: 'crates',
    title: 'Show the state of the index of crates',
    description:
      'Shows the crate sources, when each was last synced, how many crates are indexed, which cannot be read and why, and the state of the search by meaning.',
    input: z.strictObject({
      limit: z.number().int().min(1).max(1000).default(100).describe('The most broken crates to list'),
      offset: z.number().int().min(0).default(0),
    }),
    output: z.object({
      crates: z.number().int(),
      broken: z.number().int(),
      sources: z.array(
        z.object({
          source: z.string(),
          state: z.string(),
          reason: z.string().nullable(),
          synced_at: z.string().nullable(),
          crates: z.number().int(),
          broken: z.number().int(),
        }),
      ),
      broken_crates: z.array(
        z.object({
          crate_id: z.string(),
          resource_locator: z.string(),
          code: z.string(),
          reason: z.string(),
        }),
      ),
      syncing: z.boolean(),
      semantic: z.object({
        provider: z.string(),
        version: z.string().nullable(),
        documents: z.number().int(),
        stale: z.boolean(),
      }),
    }),
    annotations: { readOnlyHint: true, openWorldHint: false },
    auditFields: { subject: [] },
    async handle({ limit, offset }, { caller, signal }) {
      const status = await crates.status(caller, { limit, offset }, signal);
      const sources = status.sources.map(
        ({ source, state, crates: count, broken }) =>
          `${source}: ${state}, ${count} crates, ${broken} broken`,
      );
      return {
        text: [`${status.crates} crates, ${status.broken} broken`, ...sources].join('\n'),
        structured: status,
      };
    },
  });
}
