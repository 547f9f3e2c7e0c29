/**
 * The one shape in which every tool hands out a link, and the arguments for its terms. It makes no links
 * (`links.ts` does), and no result of it ever contains the bytes of a file.
 */
import type { ContentBlock } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { splitExtension, toSavedName } from '../../platform/text/filenames.ts';
import { listAs } from '../offer/schema.ts';
import type { ToolAnswer } from '../offer/tool.ts';
import type { SharedLink } from './links.ts';
import { formatBytes, quoteName, toPlainJson } from '../../platform/text/text.ts';

/** The one shape of every result that hands out a file (SPEC C1). It never contains the bytes of the file. */
export const linkShape = z.object({
  filename: z.string(),
  size: z.number().int(),
  sha256: z.string(),
  mediaType: z.string(),
  token: z
    .string()
    .describe('The link for link_status and revoke_link. Anyone who has it can fetch the file.'),
  downloadUrl: z.string(),
  expiresAt: z.string(),
});

/** The same for an external target, whose sha256 may be unknown without reading all of it. */
export const externalLinkShape = linkShape.extend({
  sha256: z.string().nullable().describe('Null if unknown'),
});

type LinkResult<Sha256> = Omit<z.input<typeof linkShape>, 'sha256'> & { sha256: Sha256 };

/**
 * The text is all that a model sees of a link (SPEC C1). `localPath` is where a client on the same machine has the file,
 * under its name: the shell of some clients cannot reach this server.
 */
export function toLinkAnswer<Sha256 extends string | null>(
  shared: SharedLink<Sha256>,
  baseUrl: string,
  localPath: string | null = null,
): ToolAnswer<LinkResult<Sha256>> {
  const { filename, size, sha256, mediaType } = shared.download;
  const downloadUrl = `${baseUrl}/files/${shared.token}`;
  const expiresAt = new Date(shared.link.expiresAt).toISOString();
  const resource: ContentBlock = {
    type: 'resource_link',
    uri: downloadUrl,
    name: filename,
    mimeType: mediaType,
    size,
  };
  return {
    text:
      localPath === null
        ? `${shortenName(filename)}, ${formatBytes(size)}, ${formatLifetime(shared)}: curl -fsSL ${toCurlOutputOption(filename)} ${downloadUrl}`
        : `${formatBytes(size)}, local path: ${quoteName(localPath)}\nOr ${formatLifetime(shared)}: curl -fsSLOJ ${downloadUrl}`,
    structured: { filename, size, sha256, mediaType, token: shared.token, downloadUrl, expiresAt },
    content: [resource],
  };
}

/** Over stdio the server, and with it every link, ends with the client. */
function formatLifetime({ link, endsWithClient }: SharedLink<string | null>): string {
  const until = `until ${formatExpiry(link)}${endsWithClient ? ' or this client ends' : ''}`;
  return link.singleUse ? `for one download, ${until}` : until;
}

const hourMs = 3_600_000;

/** When something ends: to the minute, or to the second where it lives for less than an hour. */
export function formatExpiry({ createdAt, expiresAt }: { createdAt: number; expiresAt: number }): string {
  const digits = expiresAt - createdAt < hourMs ? 19 : 16;
  return `${new Date(expiresAt).toISOString().slice(0, digits)}Z`;
}

/**
 * A plain short name is passed to curl; any other is left to the header of the server, so that no shell interprets it.
 */
function toCurlOutputOption(filename: string): string {
  const isPlain = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,39}$/.test(filename) && isShown(filename, maxOptionCost);
  return isPlain && toSavedName(filename) === filename ? `-o ${filename}` : '-OJ';
}

/** Roughly the tokens of a name: words take few, every sign one, what is rare up to three. */
function countCost(text: string): number {
  // Between kinds of characters a new token begins.
  let cost = (text.match(/(?<=[a-z])[A-Z]|(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]/g) ?? []).length * 0.7;
  // What is no word has a token for every other letter.
  for (const [run] of text.matchAll(/[b-df-hj-np-tv-xz]{4,}|[A-Za-z]{16,}/g)) cost += run.length * 0.4;
  for (const character of text) cost += getCharacterCost(character);
  return cost;
}

function getCharacterCost(character: string): number {
  if (/[a-z]/.test(character)) return 0.5;
  if (/[0-9]/.test(character)) return 0.7;
  return /[A-Z]/.test(character) ? 1 : Buffer.byteLength(character) * 0.8;
}

const maxNameCost = 27.5;
/** As an option it is there twice. */
const maxOptionCost = 12;
const maxShortCost = 14;
const maxExtensionCost = 5;

const isShown = (name: string, most: number): boolean => countCost(quoteName(name)) <= most;

/** A link stays short whatever it is called: of a long name the beginning and the end are shown, and how long it is. */
function shortenName(name: string): string {
  if (isShown(name, maxNameCost)) return quoteName(name);
  const characters = Array.from(name);
  const [, extension] = splitExtension(name);
  const end = isShown(extension, maxExtensionCost) ? extension : '';
  let start = '';
  for (const character of characters) {
    if (countCost(toPlainJson(`${start}${character}…${end}`)) > maxShortCost) break;
    start += character;
  }
  return `${toPlainJson(`${start}…${end}`)} (${characters.length} characters)`;
}

/** What the settings say of how long links live, in seconds. */
export interface LinkTermBounds {
  readonly fileTtl: number;
  readonly maxTtl: number;
}

/** How long a link lives and how often it may be used, as every tool that makes one asks for it. */
export function toLinkTermFields({ fileTtl, maxTtl }: LinkTermBounds) {
  const usualTtl = Math.min(fileTtl, maxTtl);
  return {
    ttl_seconds: listAs(z.number().int().min(1).max(maxTtl).default(usualTtl), {
      type: 'integer',
      description: `Default ${usualTtl}, at most ${maxTtl}`,
    }),
    single_use: listAs(z.boolean().default(false), {
      type: 'boolean',
      description: 'End the link after one download',
    }),
  };
}
