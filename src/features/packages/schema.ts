/** Packages in JSON: what the tools take, and what they answer. It judges no names (`names.ts` does). */
import { z } from 'zod';
import { listAs } from '../../core/offer/schema.ts';
import { packageLanguages } from '../../ports/sandbox/environments.ts';
import type { PackageChange } from './install.ts';
import type { RunningJob } from './jobs.ts';
import type { ListedLanguage } from './packages.ts';

const maxPackageNames = 100;

const makeNames = (description: string) =>
  listAs(
    z
      .array(z.string())
      .refine((names) => names.length > 0, 'name at least one package')
      .refine((names) => names.length <= maxPackageNames, `at most ${maxPackageNames} packages in one call`),
    { type: 'array', items: { type: 'string' }, description },
  );

const language = z.enum(packageLanguages);

export const installInput = z.strictObject({
  language,
  names: makeNames('Such as pandas, "numpy>=1.26,<2", lodash@4'),
});

export const removeInput = z.strictObject({
  language,
  names: makeNames('As they were asked for'),
});

const namedPackageShape = z.object({ name: z.string(), version: z.string() });

export const changeShape = z.object({
  state: z.enum(['done', 'running']).describe('running: the install goes on, and nothing is changed yet'),
  language,
  changed: z.boolean(),
  added: z.array(namedPackageShape).describe('New, or in another version than before'),
  removed: z.array(namedPackageShape),
  from_system: z.array(namedPackageShape).describe('Asked for, and there anyway'),
  requested: z.array(z.string()).describe('All that was asked for until now'),
  bytes: z.number(),
  took_ms: z.number(),
});

export function showChange(change: PackageChange): z.input<typeof changeShape> {
  return {
    state: 'done',
    language: change.language,
    changed: change.isChanged,
    added: [...change.added],
    removed: [...change.removed],
    from_system: [...change.fromSystem],
    requested: [...(change.current?.requested ?? [])],
    bytes: change.current?.bytes ?? 0,
    took_ms: change.tookMs,
  };
}

export const showRunningInstall = (job: RunningJob, tookMs: number): z.input<typeof changeShape> => ({
  state: 'running',
  language: job.language,
  changed: false,
  added: [],
  removed: [],
  from_system: [],
  requested: [...job.names],
  bytes: 0,
  took_ms: tookMs,
});

export const packageListShape = z.object({
  languages: z.array(
    z.object({
      language,
      registry: z.string(),
      requested: z.array(z.string()),
      installed: z.array(namedPackageShape),
      bytes: z.number(),
      made_at: z.string().nullable(),
      stale: z.boolean().describe('Made for another interpreter than runs have now'),
      damaged: z
        .boolean()
        .describe('What was installed last was damaged; what is there was installed before'),
    }),
  ),
  under_way: z.array(z.object({ language, names: z.array(z.string()), since: z.string() })),
  allowed: z.string().nullable().describe('What may be installed; null for everything'),
});

const toIso = (time: number): string => new Date(time).toISOString();

export function showList(
  languages: readonly ListedLanguage[],
  jobs: readonly RunningJob[],
  allowed: string | null,
): z.input<typeof packageListShape> {
  return {
    languages: languages.map(({ current, isStale, wasDamaged, ...rest }) => ({
      language: rest.language,
      registry: rest.registry,
      requested: [...(current?.requested ?? [])],
      installed: [...(current?.installed ?? [])],
      bytes: current?.bytes ?? 0,
      made_at: current === null ? null : toIso(current.madeAt),
      stale: isStale,
      damaged: wasDamaged,
    })),
    under_way: jobs.map(({ names, since, ...job }) => ({
      language: job.language,
      names: [...names],
      since: toIso(since),
    })),
    allowed,
  };
}
