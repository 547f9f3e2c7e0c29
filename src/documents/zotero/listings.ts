import type { Client } from './client.ts';

type Params = readonly (readonly [string, string])[];

/**
 * The list of all items, or those of a collection, that are neither notes nor attachments. The web API takes one
 * `itemType`, whose `-` is for all types in it; Zotero on this machine takes several, and would let everything through
 * that is not of both types.
 */
export function regularItems(
  { address }: Client,
  collection: string | null,
): { readonly path: string; readonly params: Params } {
  const path = collection === null ? 'items/top' : `collections/${collection}/items/top`;
  const types = address.isLocal ? ['-attachment', '-note'] : ['-attachment || note'];
  return { path, params: types.map((type) => ['itemType', type]) };
}
