/** What a user has, against what they may have, and the limits that their runs and files are under. */
import type { Hono } from 'hono';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { countThings, formatBytes, formatCount } from '../../platform/text/text.ts';
import { renderBar } from './bar.ts';
import { renderTile } from './operate-status.ts';
import type { PageTools, Visitor, Routing } from './routing.ts';
import type { ToolAnswers } from './tool-answers.ts';

/** What is null cannot be counted, or is not for a visitor with these scopes. */
export interface UsageReport {
  readonly files: {
    readonly bytes: number;
    readonly mostBytes: number;
    readonly count: number;
    readonly mostCount: number;
  } | null;
  readonly folders: {
    readonly workspace: number | null;
    readonly artifacts: number | null;
    readonly packages: number | null;
    readonly most: number;
  } | null;
  readonly crates: { readonly bytes: number; readonly count: number } | null;
  /** Runs of the last day, by state. */
  readonly runs: readonly { readonly state: string; readonly count: number }[] | null;
  readonly mostSessions: number;
  /** By what they are about. */
  readonly limits: readonly (readonly [about: string, readonly (readonly [name: string, value: string])[]])[];
}

export type ReadUsage = (visitor: Visitor) => Promise<UsageReport>;

type ListedPackages = ToolAnswers['list_packages'];

function renderUsage(
  report: UsageReport,
  openSessions: number | null,
  packages: ListedPackages | null,
): Html {
  const { files, folders, crates, runs, mostSessions, limits } = report;
  const onDisk = folders && sumKnown([folders.workspace, folders.artifacts, folders.packages]);
  return html`<h1>Usage and limits</h1>
    <div class="tiles">
      ${
        files === null
          ? nothing
          : renderTile(
              'Stored files',
              formatBytes(files.bytes),
              `of ${formatBytes(files.mostBytes)}, ${formatCount(files.count)} of ${countThings(files.mostCount, 'file')}`,
              renderBar(files.bytes, files.mostBytes),
            )
      }
      ${
        folders === null
          ? nothing
          : renderTile(
              'Disk of your runs',
              onDisk === null ? 'unknown' : formatBytes(onDisk),
              `of ${formatBytes(folders.most)}`,
              renderBar(onDisk ?? 0, folders.most),
            )
      }
      ${
        crates === null
          ? nothing
          : renderTile(
              'Packed crates',
              formatCount(crates.count),
              formatBytes(crates.bytes) + (files === null ? '' : ` of ${formatBytes(files.mostBytes)}`),
            )
      }
      ${
        openSessions === null
          ? nothing
          : renderTile(
              'Open sessions',
              String(openSessions),
              `of ${mostSessions}`,
              renderBar(openSessions, mostSessions),
            )
      }
    </div>
    <div class="cards">
      ${runs === null ? nothing : renderRunStates(runs)}
      ${
        folders === null
          ? nothing
          : renderFacts('On disk', [
              ['/workspace', formatKnownBytes(folders.workspace)],
              ['/artifacts', formatKnownBytes(folders.artifacts)],
              ['/packages', formatKnownBytes(folders.packages)],
            ])
      }
      ${packages === null ? nothing : renderPackages(packages)}
    </div>
    <h2>Limits</h2>
    <div class="cards">${limits.map(([about, facts]) => renderFacts(about, facts))}</div>`;
}

const sumKnown = (sizes: readonly (number | null)[]): number | null =>
  sizes.reduce((sum, size) => (sum === null || size === null ? null : sum + size), 0);

const formatKnownBytes = (bytes: number | null): string =>
  bytes === null ? 'too much to count here' : formatBytes(bytes);

const renderFacts = (about: string, facts: readonly (readonly [string, string])[]): Html =>
  html`<section class="card">
    <h2>${about}</h2>
    <dl>
      ${facts.map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
      )}
    </dl>
  </section>`;

const renderRunStates = (runs: readonly { readonly state: string; readonly count: number }[]): Html =>
  runs.length === 0
    ? html`<section class="card">
        <h2>Runs of the last day</h2>
        <p class="muted">None. <a href="/">Older runs</a></p>
      </section>`
    : renderFacts(
        'Runs of the last day',
        runs.map(({ state, count }) => [state, formatCount(count)]),
      );

const shownPackages = 30;

function renderPackages({ languages }: ListedPackages): Html {
  const all = languages.flatMap(({ language, installed }) =>
    installed.map(({ name, version }) => [`${name} (${language})`, version] as const),
  );
  if (all.length === 0)
    return html`<section class="card">
      <h2>Packages</h2>
      <p class="muted">You have installed none.</p>
    </section>`;
  const more = all.length - shownPackages;
  return renderFacts('Packages', [
    ...all.slice(0, shownPackages),
    ...(more > 0 ? [['and', `${more} more`] as const] : []),
  ]);
}

/** By tools where there are some: whoever may not use one does not see what it says. */
async function askIfMay<Name extends keyof ToolAnswers>(tools: PageTools, visitor: Visitor, name: Name) {
  return (await tools.has(visitor, name)) ? tools.call(visitor, name, {}) : null;
}

export function addUsageRoute(routes: Hono, { tools, show }: Routing, readUsage: ReadUsage): void {
  routes.get(
    '/usage',
    show('/usage', 'Usage', async (visitor) => {
      const sessions = await askIfMay(tools, visitor, 'list_sessions');
      const packages = await askIfMay(tools, visitor, 'list_packages');
      const open = sessions?.sessions.filter(({ state }) => state === 'open').length ?? null;
      return renderUsage(await readUsage(visitor), open, packages);
    }),
  );
}
