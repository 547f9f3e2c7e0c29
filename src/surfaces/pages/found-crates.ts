/** The search for crates: the query, what narrows it with counts, the crates that were found, and how the index is. */
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { renderAction, renderShortTime } from './frame.ts';

export interface FoundCrates {
  readonly total: number;
  readonly results: readonly {
    readonly crate_id: string;
    readonly title: string;
    readonly description: string;
    readonly authors: readonly string[];
    readonly year: number | null;
    readonly snippet: string;
    readonly resource_locator: string;
  }[];
  readonly facets: Readonly<Record<string, readonly { readonly value: string; readonly count: number }[]>>;
  readonly next_offset: number | null;
  readonly notes: readonly string[];
}

export interface IndexState {
  readonly crates: number;
  readonly broken: number;
  readonly syncing: boolean;
  readonly sources: readonly {
    readonly source: string;
    readonly state: string;
    readonly reason: string | null;
    readonly synced_at: string | null;
    readonly crates: number;
  }[];
  readonly broken_crates: readonly { readonly resource_locator: string; readonly reason: string }[];
}

/** What was asked for, as the address of the page has it. */
export interface CrateWish {
  readonly query: string;
  readonly mode: string;
  readonly offset: number;
  /** By the name of a facet, in the order of `facetTitles`. */
  readonly narrowed: readonly (readonly [name: string, value: string])[];
}

/** What can be narrowed by, and what it is called here. */
export const facetTitles: Readonly<Record<string, string>> = {
  author: 'Author',
  year: 'Year',
  keyword: 'Keyword',
  license: 'Licence',
  type: 'Contains',
};

const modes = [
  ['hybrid', 'words and meaning'],
  ['keyword', 'words alone'],
  ['semantic', 'meaning alone'],
] as const;

export const cratesOnPage = 20;

/** The address of a search; without what is at its default. */
export function toSearchAddress({ query, mode, narrowed, offset }: CrateWish): string {
  const fields = [
    ...(query === '' ? [] : [['query', query]]),
    ...(mode === modes[0][0] ? [] : [['mode', mode]]),
    ...narrowed.map(([name, value]) => [name, value]),
    ...(offset === 0 ? [] : [['offset', String(offset)]]),
  ];
  return fields.length === 0 ? '/crates' : `/crates?${new URLSearchParams(fields).toString()}`;
}

export interface CrateSearch {
  readonly wish: CrateWish;
  readonly found: FoundCrates;
  readonly index: IndexState;
  /** The token of the form that syncs; null for those who may not. */
  readonly syncToken: string | null;
}

export function renderSearch(search: CrateSearch): Html {
  const { wish, found, index } = search;
  const isEmpty = index.crates === 0 && found.total === 0;
  return html`<h1>Crates</h1>
    ${isEmpty ? renderNoCrates() : html`${renderForm(wish)} ${renderFound(search)}`} ${renderIndex(search)}`;
}

const renderNoCrates = (): Html =>
  html`<section class="card">
    <h2 class="first">There is no crate yet</h2>
    <p>
      A crate is a folder or an archive of files that says what they are and how they were made. Open a
      <a href="/">run</a> and choose “Pack as a crate”, or start the server with
      <code>--crate-sources</code> to find those that you have.
    </p>
  </section>`;

const renderForm = ({ query, mode, narrowed }: CrateWish): Html =>
  html`<form class="filter" method="get" action="/crates" role="search">
    <label class="wide">Search <input type="search" name="query" value="${query}" maxlength="10000" /></label>
    <label
      >By
      <select name="mode">
        ${modes.map(([value, words]) => html`<option value="${value}" ${value === mode ? html`selected` : nothing}>${words}</option>`)}
      </select></label
    >
    ${narrowed.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    <button>Search</button>
  </form>`;

function renderFound({ wish, found }: CrateSearch): Html {
  const facets = renderFacets(wish, found);
  const list = html`<div>
    <p role="status">${describeCount(wish, found)}</p>
    ${facets === null ? nothing : html`<p class="to-facets"><a href="#narrow">Narrow it down</a></p>`}
    ${found.notes.map((note) => html`<p class="note">${note}</p>`)} ${found.results.map(renderResult)}
    ${renderPaging(wish, found)}
  </div>`;
  return html`${renderNarrowed(wish)}
  ${facets === null ? list : html`<div class="found">${list} ${facets}</div>`}`;
}

function describeCount({ query, offset, narrowed }: CrateWish, { total, results }: FoundCrates): string {
  const count = total === 1 ? '1 crate' : `${total.toLocaleString('en-GB')} crates`;
  const order = query === '' ? 'newest first' : 'best first';
  if (total === 0)
    return narrowed.length > 0 ? 'No crate fits. Take away what narrows it.' : 'No crate fits.';
  if (results.length === total) return `${count}, ${order}`;
  return `${count}, ${order}: ${offset + 1} to ${offset + results.length}`;
}

/** What the search is narrowed by, each as a link that takes it away. */
function renderNarrowed(wish: CrateWish): Html | '' {
  if (wish.narrowed.length === 0) return nothing;
  return html`<p class="chips">
    ${wish.narrowed.map(([name, value]) => {
      const narrowed = wish.narrowed.filter(([other]) => other !== name);
      const label = `Take away ${facetTitles[name]}: ${value}`;
      return html`<a
        class="chip"
        href="${toSearchAddress({ ...wish, narrowed, offset: 0 })}"
        aria-label="${label}"
        >${facetTitles[name]}: ${toShortValue(value)} <span aria-hidden="true">×</span></a
      >`;
    })}
  </p>`;
}

/** Only what tells crates apart. Null where nothing does. */
function renderFacets(wish: CrateWish, { facets, total }: FoundCrates): Html | null {
  const groups = Object.keys(facetTitles).flatMap((name) => {
    const isNarrowed = wish.narrowed.some(([other]) => other === name);
    const values = (facets[name] ?? []).filter(({ count, value }) => count < total && value.trim() !== '');
    return isNarrowed || values.length === 0 ? [] : [{ name, values }];
  });
  if (groups.length === 0) return null;
  return html`<nav class="facets" id="narrow" aria-label="Narrow">
    ${groups.map(
      ({ name, values }) =>
        html`<h2>${facetTitles[name]}</h2>
          <ul>
            ${values.map(({ value, count }) => {
              const narrowed = [...wish.narrowed, [name, value] as const];
              return html`<li>
                <a href="${toSearchAddress({ ...wish, narrowed, offset: 0 })}">${toShortValue(value)}</a>
                <span class="muted">${count}</span>
              </li>`;
            })}
          </ul>`,
    )}
  </nav>`;
}

const maxShownValue = 60;

/** A licence by its name, another address without what all addresses have. */
function toShortValue(value: string): string {
  const licence = /^https?:\/\/creativecommons\.org\/licenses\/([a-z-]+)\/([\d.]+)\/?$/i.exec(value);
  if (licence !== null) return `CC ${licence[1]!.toUpperCase()} ${licence[2]}`;
  const short = value.replace(/^https?:\/\/(?:www\.)?(?:spdx\.org\/licenses\/)?/i, '').replace(/\/$/, '');
  return short.length > maxShownValue ? `${short.slice(0, maxShownValue - 1).toWellFormed()}…` : short;
}

const renderResult = (crate: FoundCrates['results'][number]): Html =>
  html`<article class="card result">
    <h2><a href="/crates/${crate.crate_id}">${crate.title}</a></h2>
    <p class="facts">
      ${crate.authors.length === 0 ? nothing : html`<span>${listNames(crate.authors)}</span>`}
      ${crate.year === null ? nothing : html`<span>${crate.year}</span>`}
    </p>
    <p>${renderSnippet(crate.snippet)}</p>
    <p class="place">${crate.resource_locator}</p>
  </article>`;

const maxAuthors = 5;

const listNames = (names: readonly string[]): string =>
  names.length > maxAuthors
    ? `${names.slice(0, maxAuthors).join(', ')} and ${names.length - maxAuthors} more`
    : names.join(', ');

/** Words that match are between two stars each. */
const renderSnippet = (snippet: string): Html =>
  html`${snippet.split('**').map((part, at) => (at % 2 === 0 ? part : html`<mark>${part}</mark>`))}`;

function renderPaging(wish: CrateWish, { next_offset }: FoundCrates): Html | '' {
  if (wish.offset === 0 && next_offset === null) return nothing;
  const before = Math.max(0, wish.offset - cratesOnPage);
  return html`<nav class="paging" aria-label="Pages">
    ${wish.offset === 0 ? nothing : html`<a rel="prev" href="${toSearchAddress({ ...wish, offset: before })}">Previous</a>`}
    ${next_offset === null ? nothing : html`<a rel="next" href="${toSearchAddress({ ...wish, offset: next_offset })}">Next</a>`}
  </nav>`;
}

/** Where crates come from, when that was looked at, and which could not be read. */
function renderIndex({ index, syncToken }: CrateSearch): Html {
  const { crates, broken, syncing, sources } = index;
  const state = `${crates === 1 ? '1 crate' : `${crates.toLocaleString('en-GB')} crates`} in the index${broken > 0 ? `, ${broken} cannot be read` : ''}${syncing ? '; it is being brought up to date' : ''}`;
  return html`<section class="index" aria-labelledby="index">
    <h2 id="index">Index</h2>
    <div class="actions">
      <p>${state}.</p>
      ${syncToken === null ? nothing : renderAction('/crates/sync', 'Sync now', syncToken)}
    </div>
    ${
      sources.length === 0
        ? nothing
        : html`<div class="scroll list" tabindex="0" role="region" aria-label="Sources">
            <table>
              <thead>
                <tr>
                  <th scope="col">Source</th>
                  <th scope="col">State</th>
                  <th scope="col">Synced (UTC)</th>
                  <th scope="col">Crates</th>
                </tr>
              </thead>
              <tbody>
                ${sources.map(renderSource)}
              </tbody>
            </table>
          </div>`
    }
    ${renderBroken(index)}
  </section>`;
}

const renderSource = ({ source, state, reason, synced_at, crates }: IndexState['sources'][number]): Html =>
  html`<tr>
    <td title="${source}">${source}</td>
    <td>${reason === null ? state : `${state}: ${reason}`}</td>
    <td>${synced_at === null ? 'never' : renderShortTime(synced_at)}</td>
    <td class="number">${crates}</td>
  </tr>`;

function renderBroken({ broken, broken_crates }: IndexState): Html | '' {
  if (broken_crates.length === 0) return nothing;
  const left = broken - broken_crates.length;
  return html`<details>
    <summary>What cannot be read</summary>
    <ul class="problems">
      ${broken_crates.map(({ resource_locator, reason }) => html`<li><code>${resource_locator}</code> ${reason}</li>`)}
    </ul>
    ${left > 0 ? html`<p class="muted">And ${left} more.</p>` : nothing}
  </details>`;
}
