/** One crate: what it is, how it was made, its own preview page, and its files. */
import type { CrateProvenance, ProvenanceThing } from '../../features/crates/views.ts';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { renderAction, renderShortTime } from './frame.ts';
import { toSearchAddress } from './found-crates.ts';
import type { GraphAction, GraphThing } from './graph-layout.ts';
import { renderGraph } from './graph.ts';

export interface CrateOnPage {
  readonly crate_id: string;
  readonly title: string;
  readonly description: string;
  readonly authors: readonly string[];
  readonly keywords: readonly string[];
  readonly license: { readonly id: string | null; readonly name: string | null } | null;
  readonly date_published: string | null;
  readonly identifiers: readonly string[];
  readonly spec_version: string | null;
  readonly profiles: readonly string[];
  readonly resource_locator: string;
  readonly last_modified: string | null;
  readonly bytes: number | null;
  readonly types: readonly { readonly type: string; readonly count: number }[];
  readonly issues: readonly { readonly message: string; readonly count: number }[];
}

export interface CrateListing {
  readonly total: number;
  readonly files: readonly {
    readonly path: string;
    readonly size: number;
    readonly last_modified: string | null;
  }[];
  readonly next: number | null;
  readonly unsafe_names: number;
}

/** Which files of it are shown. */
export interface FileWish {
  readonly pattern: string;
  readonly offset: number;
}

export const filesOnPage = 100;

export interface CratePage {
  readonly crate: CrateOnPage;
  readonly listing: CrateListing;
  readonly wish: FileWish;
  /** A sentence in its place where it cannot be read; null where the crate names no action. */
  readonly provenance: CrateProvenance | string | null;
  readonly hasPreview: boolean;
  readonly mayCheck: boolean;
  readonly token: string;
}

export function renderCrate(page: CratePage): Html {
  const { crate, provenance, hasPreview, mayCheck, token } = page;
  const address = `/crates/${crate.crate_id}`;
  return html`<p><a href="/crates">All crates</a></p>
    <section class="card">
      <h1>${crate.title}</h1>
      <p class="lead">${crate.description}</p>
      <div class="actions">
        ${renderAction(`${address}/download`, 'Download', token, 'plain')}
        ${mayCheck ? html`<a class="button quiet" href="${address}/check">Check by the rules</a>` : nothing}
      </div>
      ${renderFacts(crate)}
    </section>
    ${provenance === null ? nothing : renderProvenance(crate.crate_id, provenance)}
    ${hasPreview ? renderPreview(crate) : nothing} ${renderFiles(page)} ${renderIssues(crate)}`;
}

function renderFacts(crate: CrateOnPage): Html {
  const { license, authors, keywords, date_published, bytes } = crate;
  const year = date_published?.slice(0, 4);
  const licence = license?.name ?? license?.id ?? '';
  const facts: readonly (readonly [string, Html | string | null])[] = [
    ['Authors', renderLinks('author', authors)],
    [
      'Published',
      date_published && year
        ? html`<a href="${toFacetAddress('year', year)}">${date_published.slice(0, 10)}</a>`
        : null,
    ],
    ['Licence', licence && renderLinks('license', [licence])],
    ['Keywords', renderLinks('keyword', keywords)],
    ['Identifiers', crate.identifiers.slice(0, maxValues).join(', ')],
    ['Contains', describeTypes(crate)],
    ['Size', bytes === null ? null : formatBytes(bytes)],
    ['RO-Crate', [crate.spec_version, ...crate.profiles.slice(0, maxValues)].filter(Boolean).join(', ')],
    ['Where', crate.resource_locator],
    ['Id', html`<code>${crate.crate_id}</code>`],
  ];
  return html`<dl>
    ${facts
      .filter(([, value]) => value !== null && value !== '')
      .map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
      )}
  </dl>`;
}

const maxValues = 20;

const toFacetAddress = (name: string, value: string): string =>
  toSearchAddress({ query: '', mode: 'hybrid', offset: 0, narrowed: [[name, value]] });

/** Each leads to the crates that have it too. */
function renderLinks(name: string, values: readonly string[]): Html | null {
  if (values.length === 0) return null;
  const shown = values.slice(0, maxValues);
  const more = values.length - shown.length;
  return html`${shown.map(
    (value, at) => html`${at === 0 ? '' : ', '}<a href="${toFacetAddress(name, value)}">${value}</a>`,
  )}${more > 0 ? ` and ${more} more` : ''}`;
}

const maxTypes = 8;

const describeTypes = ({ types }: CrateOnPage): string =>
  types
    .slice(0, maxTypes)
    .map(({ type, count }) => `${count} ${type}`)
    .join(', ') + (types.length > maxTypes ? ' and more' : '');

function renderProvenance(crateId: string, provenance: CrateProvenance | string): Html {
  if (typeof provenance === 'string')
    return html`<h2>How it was made</h2>
      <p class="muted">${provenance}</p>`;
  const toThing = ({ id, name, path }: ProvenanceThing): GraphThing => ({
    id,
    name,
    href: path === null ? null : toFileAddress(crateId, path),
  });
  const actions = provenance.actions.map((action): GraphAction => ({
    ...action,
    facts: [
      ...action.agents.slice(0, 2).map((agent) => `by ${agent}`),
      ...(action.startedAt === null ? [] : [action.startedAt.slice(0, 16).replace('T', ' ')]),
    ],
    instruments: action.instruments.slice(0, 3).map(toThing),
    objects: action.objects.map(toThing),
    results: action.results.map(toThing),
  }));
  return html`<h2>How it was made</h2>
    ${renderGraph({ title: 'How the files of this crate were made', actions, total: provenance.actionCount })}`;
}

/** The list of files with this one alone: a leading slash is the root of the crate. */
const toFileAddress = (crateId: string, path: string): string =>
  toFilesAddress(`/crates/${crateId}`, { files: `/${path}` });

const toFilesAddress = (address: string, query: Readonly<Record<string, string>>): string =>
  `${address}?${new URLSearchParams(query).toString()}#files`;

/** Its scripts do not run and it fetches nothing: a sandbox, and a policy of its own. */
const renderPreview = ({ crate_id, title }: CrateOnPage): Html =>
  html`<h2>Its own page</h2>
    <div class="preview framed">
      <iframe
        sandbox=""
        loading="lazy"
        src="/crates/${crate_id}/preview"
        title="The preview page of ${title}"
        referrerpolicy="no-referrer"
      ></iframe>
    </div>`;

function renderFiles({ crate, listing, wish, token }: CratePage): Html {
  const { total, files, next, unsafe_names } = listing;
  const address = `/crates/${crate.crate_id}`;
  const count = total === 1 ? '1 file' : `${total.toLocaleString('en-GB')} files`;
  return html`<h2 id="files">${wish.pattern === '' ? count : 'Files'}</h2>
    <form class="filter" method="get" action="${address}#files" role="search">
      <label
        >Names such as *.csv or data/** <input type="search" name="files" value="${wish.pattern}"
      /></label>
      <button class="quiet">Filter</button>
      ${wish.pattern === '' ? nothing : html`<a href="${address}#files">Show all</a>`}
    </form>
    ${wish.pattern === '' ? nothing : html`<p role="status">${total === 0 ? 'No file fits.' : `${count} fit.`}</p>`}
    <ul class="files">
      ${files.map(
        ({ path, size, last_modified }) =>
          html`<li>
            <span
              >${path}
              <span class="muted"
                >${formatBytes(size)}${last_modified === null ? nothing : html`, ${renderShortTime(last_modified)}`}</span
              ></span
            >
            ${renderFileForm(address, path, token)}
          </li>`,
      )}
    </ul>
    ${renderFilePaging(address, wish, next, total)}
    ${unsafe_names === 0 ? nothing : html`<p class="note">${unsafe_names} files are not listed: their names lead outside of the crate.</p>`}`;
}

/** Two buttons of one form: what is done is the address that each sends it to. */
const renderFileForm = (address: string, path: string, token: string): Html =>
  html`<form class="row" method="post" action="${address}/open">
    <input type="hidden" name="token" value="${token}" />
    <input type="hidden" name="path" value="${path}" />
    <button class="quiet small" aria-label="Open ${path}">Open</button>
    <button class="quiet small" formaction="${address}/fetch" aria-label="Download ${path}">Download</button>
  </form>`;

function renderFilePaging(
  address: string,
  { pattern, offset }: FileWish,
  next: number | null,
  total: number,
) {
  if (offset === 0 && next === null) return nothing;
  const to = (at: number): string =>
    toFilesAddress(address, { ...(pattern === '' ? {} : { files: pattern }), offset: String(at) });
  const last = next ?? total;
  return html`<nav class="paging" aria-label="Pages of files">
    ${offset === 0 ? nothing : html`<a rel="prev" href="${to(Math.max(0, offset - filesOnPage))}">Previous</a>`}
    <span class="muted">${Math.min(offset + 1, total)} to ${last} of ${total.toLocaleString('en-GB')}</span>
    ${next === null ? nothing : html`<a rel="next" href="${to(next)}">Next</a>`}
  </nav>`;
}

function renderIssues({ issues }: CrateOnPage): Html | '' {
  if (issues.length === 0) return nothing;
  return html`<details class="odd">
    <summary>What is odd about its metadata (${issues.length})</summary>
    <ul class="problems">
      ${issues.map(({ message, count }) => html`<li>${message}${count > 1 ? ` (${count} times)` : ''}</li>`)}
    </ul>
  </details>`;
}
