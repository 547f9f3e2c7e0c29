import { entity, type GraphEntity } from './entity.ts';

type Licence = GraphEntity & { readonly name: string };

const unstated = {
  name: 'No licence stated',
  description:
    'Nobody has stated under which terms this may be used. All rights are with its authors: ask them first.',
};

/** Identifiers without a digit that are met often; any with one, such as `CC-BY-4.0`, is told by its form. */
const plainNames = new Set(['MIT', 'ISC', 'Unlicense', 'Zlib', 'WTFPL', 'X11']);
const identifier = /^(?=.*\d)[A-Za-z0-9][A-Za-z0-9.+-]{2,60}$/;

/** The licence as an entity: RO-Crate demands one, with a name and what it says. */
export function licenceEntity(license: string | null): Licence {
  if (license === null) return named('#license', 'CreativeWork', unstated);
  const url = webAddress(license);
  if (url !== null) return named(url, 'CreativeWork', { name: license, description: `See ${license}`, url });
  if (plainNames.has(license) || identifier.test(license)) return spdx(license);
  return named('#license', 'CreativeWork', { name: firstLine(license), description: license });
}

function spdx(license: string): Licence {
  const url = `https://spdx.org/licenses/${license}`;
  const description = `The licence ${license} of the SPDX list; its text is at ${url}`;
  return named(url, 'CreativeWork', { name: license, description, url, identifier: license });
}

function named(
  id: string,
  type: string,
  properties: Readonly<Record<string, string>> & { name: string },
): Licence {
  return entity(id, type, properties) as Licence;
}

function webAddress(text: string): string | null {
  if (!/^https?:\/\/\S+$/i.test(text) || !URL.canParse(text)) return null;
  // A URL may hold some marks that an IRI may not.
  return new URL(text).href.replace(/[\\^`{|}]/g, encodeURIComponent);
}

function firstLine(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.length > 100 ? `${line.slice(0, 99).toWellFormed()}…` : line;
}
