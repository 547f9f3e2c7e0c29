/** Crates: a search with its results, best first, and one crate with its files. */
import type { Hono } from 'hono';
import { html, nothing, type Html } from '../html/html.ts';
import { formatBytes } from '../text.ts';
import { renderAction } from './frame.ts';
import { toOwnPath, type Routing } from './routing.ts';

export interface FoundCrates {
  readonly total: number;
  readonly results: readonly {
    readonly crate_id: string;
    readonly title: string | null;
    readonly description: string | null;
    readonly authors: readonly string[];
    readonly year: number | null;
    readonly snippet: string | null;
    readonly resource_locator: string;
  }[];
  readonly next_offset: number | null;
  readonly notes: readonly string[];
}

/** Null where nothing was asked for. */
function renderCrates(query: string, found: FoundCrates | null): Html {
  return html`<h1>Crates</h1>
    <form class="filter" method="get" action="/crates" role="search">
      <label>Search <input type="search" name="query" value="${query}" /></label>
      <button>Search</button>
    </form>
    ${
      found === null
        ? html`<p class="muted">
            Packed runs and crates of your sources are found by their words, authors and years.
          </p>`
        : renderFound(query, found)
    }`;
}

function renderFound(query: string, { total, results, next_offset, notes }: FoundCrates): Html {
  const count = total === 1 ? '1 crate' : `${total} crates`;
  return html`<p role="status">${count}</p>
    ${notes.map((note) => html`<p class="note">${note}</p>`)}
    ${results.map(
      (crate) =>
        html`<article class="card result">
          <h2><a href="/crates/${crate.crate_id}">${crate.title ?? crate.crate_id}</a></h2>
          <p class="facts">
            ${crate.authors.length === 0 ? nothing : html`<span>${crate.authors.join(', ')}</span>`}
            ${crate.year === null ? nothing : html`<span>${crate.year}</span>`}
            <span><code>${crate.crate_id}</code></span>
          </p>
          <p>${crate.snippet ?? crate.description ?? ''}</p>
          <p class="muted">${crate.resource_locator}</p>
        </article>`,
    )}
    ${
      next_offset === null
        ? nothing
        : html`<p>
            <a rel="next" href="?${new URLSearchParams({ query, offset: String(next_offset) })}">More</a>
          </p>`
    }`;
}

export interface ShownCrate {
  readonly crate_id: string;
  readonly title: string;
  readonly description: string;
  readonly authors: readonly string[];
  readonly keywords: readonly string[];
  readonly license: { readonly id: string | null; readonly name: string | null } | null;
  readonly date_published: string | null;
  readonly spec_version: string | null;
  readonly resource_locator: string;
  readonly issues: readonly { readonly message: string }[];
}

export interface CrateListing {
  readonly total: number;
  readonly files: readonly { readonly path: string; readonly size: number | null }[];
}

function renderCrate(crate: ShownCrate, { total, files }: CrateListing, token: string): Html {
  const facts = [
    ['Authors', crate.authors.join(', ')],
    ['Published', crate.date_published],
    ['Licence', crate.license?.name ?? crate.license?.id],
    ['Keywords', crate.keywords.join(', ')],
    ['RO-Crate', crate.spec_version],
    ['Where', crate.resource_locator],
    ['Id', crate.crate_id],
  ].filter(([, value]) => value !== null && value !== undefined && value !== '');
  return html`<p><a href="/crates">All crates</a></p>
    <section class="card">
      <h1>${crate.title}</h1>
      <p>${crate.description}</p>
      <div class="actions">
        ${renderAction(`/crates/${crate.crate_id}/download`, 'Download', token, 'plain')}
      </div>
      <dl>
        ${facts.map(
          ([name, value]) =>
            html`<dt>${name}</dt>
              <dd>${value}</dd>`,
        )}
      </dl>
    </section>
    ${crate.issues.map(({ message }) => html`<p class="note">${message}</p>`)}
    <h2>${total === 1 ? '1 file' : `${total} files`}</h2>
    <ul class="files">
      ${files.map(({ path, size }) => html`<li>${path} <span class="muted">${size === null ? '' : formatBytes(size)}</span></li>`)}
    </ul>
    ${total > files.length ? html`<p class="muted">And ${total - files.length} more.</p>` : nothing}`;
}

const filesOnPage = 200;

export function addCrateRoutes(routes: Hono, { tools, show, change }: Routing): void {
  routes.get(
    '/crates',
    show('/crates', 'Crates', async (visitor, _token, { req }) => {
      const { query = '', offset = '0' } = req.query();
      if (query === '') return renderCrates(query, null);
      const wanted = { query, limit: 20, offset: Number(offset) };
      return renderCrates(query, await tools.call(visitor, 'search_index', wanted));
    }),
  );
  routes.get(
    '/crates/:id',
    show('/crates', 'Crate', async (visitor, token, { req }) => {
      const wanted = { crate_id: req.param('id') };
      const crate = await tools.call(visitor, 'get_crate', wanted);
      const listing = await tools.call(visitor, 'list_crate_files', { ...wanted, limit: filesOnPage });
      return renderCrate(crate, listing, token);
    }),
  );
  routes.post(
    '/crates/:id/download',
    change('/crates', async (visitor, _form, id) =>
      toOwnPath((await tools.call(visitor, 'download_crate', { crate_id: id })).downloadUrl),
    ),
  );
}
