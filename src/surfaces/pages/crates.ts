/** The routes of crates: the search, one crate with its files and preview page, what the rules say of it, and the sync. */
import type { Hono } from 'hono';
import { isActionType, previewPath, type CrateViews } from '../../features/crates/views.ts';
import { asWorkcrateError, publicMessage } from '../../platform/errors.ts';
import { toStoredPageResponse } from '../../platform/html/response.ts';
import { renderCheck } from './crate-check.ts';
import { filesOnPage, renderCrate, type CrateListing, type CratePage, type CrateOnPage } from './crate.ts';
import { cratesOnPage, facetTitles, renderSearch, type CrateWish } from './found-crates.ts';
import { type Visitor, toOwnPath, type Routing } from './routing.ts';

const maxBroken = 20;

export function addCrateRoutes(routes: Hono, routing: Routing, views: CrateViews): void {
  const { tools, visit, show, change } = routing;
  routes.get(
    '/crates',
    show('/crates', 'Crates', async (visitor, token, { req }) => {
      const wish = toWish(req.query());
      const { query, mode, offset } = wish;
      const found = await tools.call(visitor, 'search_index', {
        query,
        mode,
        offset,
        limit: cratesOnPage,
        field_filters: Object.fromEntries(wish.narrowed),
        count_texts: true,
      });
      const index = await tools.call(visitor, 'index_status', { limit: maxBroken });
      const maySync = await tools.has(visitor, 'sync_index');
      return renderSearch({ wish, found, index, syncToken: maySync ? token : null });
    }),
  );
  routes.post(
    '/crates/sync',
    change('/crates', async (visitor) => {
      await tools.call(visitor, 'sync_index', {});
      return '/crates';
    }),
  );
  routes.get(
    '/crates/:id',
    show('/crates', 'Crate', async (visitor, token, { req }) => {
      const { files: pattern = '', offset } = req.query();
      const wish = { pattern, offset: toOffset(offset) };
      return renderCrate({ ...(await readCrate(routing, views, visitor, req.param('id')!, wish)), token });
    }),
  );
  routes.get('/crates/:id/preview', async (context) => {
    const [id, visitor] = [context.req.param('id'), visit(context)];
    try {
      // By the tool once: it decides who may see the crate, and is in the audit log.
      await tools.call(visitor, 'get_crate', { crate_id: id });
      const page = await views.readPreview(visitor.caller, id, visitor.signal);
      return toStoredPageResponse(page ?? 'This crate has no preview page.', page === null ? 404 : 200);
    } catch (cause) {
      return toStoredPageResponse(publicMessage(asWorkcrateError(cause)), 502);
    }
  });
  routes.get(
    '/crates/:id/check',
    show('/crates', 'Check', async (visitor, _token, { req }) =>
      renderCheck(await tools.call(visitor, 'validate_crate', { crate_id: req.param('id') })),
    ),
  );
  routes.post(
    '/crates/:id/download',
    change('/crates', async (visitor, _form, id) =>
      toOwnPath((await tools.call(visitor, 'download_crate', { crate_id: id })).downloadUrl),
    ),
  );
  const linkFile = async (visitor: Visitor, form: FormData, id: string): Promise<string> => {
    const wanted = { crate_id: id, path: form.get('path'), delivery: 'link' };
    return toOwnPath((await tools.call(visitor, 'read_crate_file', wanted)).downloadUrl);
  };
  routes.post('/crates/:id/open', change('/crates', linkFile));
  routes.post(
    '/crates/:id/fetch',
    change('/crates', async (...given) => `${await linkFile(...given)}?download=1`),
  );
}

/** Any other number is the first page. */
const toOffset = (text: string | undefined): number =>
  text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0;

function toWish(given: Readonly<Record<string, string>>): CrateWish {
  const narrowed = Object.keys(facetTitles).flatMap((name) => {
    const value = given[name] ?? '';
    return value.trim() === '' ? [] : [[name, value] as const];
  });
  return {
    query: given['query'] ?? '',
    mode: given['mode'] ?? 'hybrid',
    offset: toOffset(given['offset']),
    narrowed,
  };
}

async function readCrate(
  { tools }: Routing,
  views: CrateViews,
  visitor: Visitor,
  id: string,
  wish: CratePage['wish'],
): Promise<Omit<CratePage, 'token'>> {
  const crate: CrateOnPage = await tools.call(visitor, 'get_crate', { crate_id: id });
  const list = (limit: number, offset: number, glob: string): Promise<CrateListing> =>
    tools.call(visitor, 'list_crate_files', {
      crate_id: id,
      limit,
      offset,
      link_all: false,
      ...(glob === '' ? {} : { glob }),
    });
  const listing = await list(filesOnPage, wish.offset, wish.pattern);
  const preview = await list(1, 0, `/${previewPath}`);
  const hasActions = crate.types.some(({ type }) => isActionType(type));
  return {
    crate,
    listing,
    wish,
    hasPreview: preview.total > 0,
    mayCheck: await tools.has(visitor, 'validate_crate'),
    provenance: hasActions ? await readProvenance(views, visitor, id) : null,
  };
}

/** What is wrong with it is said in its place: the rest of the crate can be seen nevertheless. */
async function readProvenance(
  views: CrateViews,
  { caller, signal }: Visitor,
  id: string,
): Promise<NonNullable<CratePage['provenance']>> {
  try {
    return await views.readProvenance(caller, id, signal);
  } catch (cause) {
    return `The graph cannot be shown. ${publicMessage(asWorkcrateError(cause))}`;
  }
}
