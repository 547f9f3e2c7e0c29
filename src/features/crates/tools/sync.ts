/** The tools that bring the index up to date and show its state: sync_index and index_status. Syncing is in `sync/`. */
import { z } from 'zod';
import { declareTool, type DeclaredTool } from '../../../core/offer/tool.ts';
import type { IndexStatus } from '../index/reading.ts';
import type { CratesRoom, CrateTerms } from './room.ts';
import { formatLocator, makeCount, offsetSchema } from './schema.ts';
import { describeNext } from './search-text.ts';

/** Tools that update the index, and show its state. */
export const declareSyncTools = (terms: CrateTerms): DeclaredTool<CratesRoom>[] => [
  declareSyncIndexTool(terms),
  indexStatusTool,
];

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

function declareSyncIndexTool({ hasRemoteSources, usesEmbeddingsApi }: CrateTerms) {
  return declareTool({
    name: 'sync_index',
    group: 'crates',
    title: 'Update the index of crates',
    description:
      'Look for new, changed and removed crates in all sources now (otherwise done every few minutes), so that search_index finds them.',
    input: z.strictObject({}),
    output: z.object({
      sources: z.array(sourceReportSchema),
      joined: z
        .boolean()
        .describe('Whether it was under way already, so that it may miss what was added since'),
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: hasRemoteSources || usesEmbeddingsApi,
    },
    mayBeTask: true,
    auditFields: { subject: [] },
    async handle({ crates }: CratesRoom, _input, { signal, progress }) {
      let done = 0;
      const { reports, joined } = await crates.sync({
        signal,
        wait: true,
        report(now) {
          if ('waiting' in now) progress(++done, null, 'another process is updating the index');
          else if (!crates.isOfSeveral(now.source)) progress(++done, null, formatSourceReport(now));
        },
      });
      const sources = reports.map((one) =>
        crates.isOfSeveral(one.source) ? { ...one, ...hiddenCounts } : one,
      );
      return {
        text: [...sources.map(formatSourceReport), ...(joined ? [joinedNote] : [])].join('\n') || noSources,
        structured: { sources, joined },
      };
    },
  });
}

const joinedNote =
  'This joined an update that was under way. Call it again for crates that were added since that began.';

function formatSourceReport(report: z.input<typeof sourceReportSchema>): string {
  const { source, state, reason, seen, read, unchanged, broken, removed } = report;
  const at = formatLocator(source);
  if (state === 'unreachable') return `${at}: unreachable, so its crates stay in the index: ${reason}`;
  if (seen === null) return `${at}: packed crates, up to date`;
  const more = (broken ?? 0) > 0 ? ' (index_status says why)' : '';
  return `${at}: ${seen} crates, ${read} read, ${unchanged} unchanged, ${broken} broken${more}, ${removed} removed`;
}

const indexStatusTool = declareTool({
  name: 'index_status',
  group: 'crates',
  title: 'Show the state of the index of crates',
  description:
    'The sources of crates, when each was synced, how many crates are indexed, which cannot be read and why.',
  input: z.strictObject({
    limit: makeCount(1, 1000, 100, 'Of broken crates'),
    offset: offsetSchema,
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
  async handle({ crates }: CratesRoom, { limit, offset }, { caller, signal }) {
    const status = await crates.status(caller, { limit, offset }, signal);
    return { text: describeStatus(status, offset), structured: status };
  },
});

const maxBrokenInText = 20;

function describeStatus(status: IndexStatus, offset: number): string {
  const { crates, broken, sources, broken_crates, syncing, semantic } = status;
  const shown = broken_crates.slice(0, maxBrokenInText);
  const end = offset + shown.length;
  return [
    `${crates} crates, ${broken} broken${syncing ? '; syncing now: more may follow' : ''}`,
    ...(sources.length === 0 ? [noSources] : sources.map(describeSource)),
    `Search by meaning: ${semantic.provider}${semantic.version === null ? '' : ` ${semantic.version}`}, ${semantic.documents} crates${semantic.stale ? ', being updated' : ''}`,
    ...shown.map(
      ({ crate_id, resource_locator, code, reason }) =>
        `Broken: ${formatLocator(resource_locator)} (${crate_id}): ${code}: ${reason}`,
    ),
    ...describeNext(shown.length > 0 && end < broken ? end : null, broken),
  ].join('\n');
}

const noSources = 'There are no crate sources.';

function describeSource({
  source,
  state,
  reason,
  synced_at,
  crates,
  broken,
}: IndexStatus['sources'][number]): string {
  const when = synced_at === null ? 'never synced' : `synced ${synced_at.slice(0, 19)}Z`;
  return `${formatLocator(source)}: ${state}, ${when}, ${crates} crates, ${broken} broken${reason === null ? '' : `: ${reason}`}`;
}
