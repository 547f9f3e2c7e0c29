/**
 * What code gets of a tool's result: values as values, pictures and what is large as files, links as links. A result may
 * be hostile: it is measured before it is written as JSON.
 */
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { formatBytes } from '../../platform/text/text.ts';
import { maxValueBytes, measureValue } from './frames.ts';
import type { RunFiles, WrittenFile } from './run-files.ts';

/** A thing that a tool points at, as it is told. */
export interface ToldLink {
  readonly uri: string;
  readonly name: string;
  readonly size: number | null;
  readonly media_type: string | null;
}

type Item = { readonly value: unknown } | { readonly link: ToldLink } | { readonly file: WrittenFile };

/** The value, and what came beside it; or the parts of a result that has no value of its own. */
export type ToldValue =
  | { readonly value: unknown; readonly links?: readonly ToldLink[]; readonly files?: readonly WrittenFile[] }
  | { readonly items: readonly Item[] };

/** What is larger is not even written to a file. */
const maxResultTotal = 64 * 1024 ** 2;
/** More parts than this are left out. */
const maxCallParts = 1000;

export const tooLargeText = `The result has more than ${formatBytes(maxResultTotal)}, or is nested too deep. Ask for less.`;

/** Whether a result can be hashed and written at all. It may be of any size. */
export const isBearable = (result: CallToolResult): boolean => measureValue(result, maxResultTotal) !== null;

/** Of a result that is bearable. `name` is for files, without an ending. */
export async function toToldValue(result: CallToolResult, name: string, files: RunFiles): Promise<ToldValue> {
  const { structuredContent } = result;
  const parts = result.content.slice(0, maxCallParts);
  if (structuredContent === undefined) return { items: await tellParts(parts, name, files) };
  const beside = await tellParts(
    parts.filter(({ type }) => type !== 'text'),
    name,
    files,
  );
  const links = beside.flatMap((item) => ('link' in item ? [item.link] : []));
  const written = beside.flatMap((item) => ('file' in item ? [item.file] : []));
  const isLong = measureValue(structuredContent, maxValueBytes / 6) === null;
  const json = isLong ? JSON.stringify(structuredContent) : null;
  if (json !== null && Buffer.byteLength(json) > maxValueBytes)
    return { items: [await fileText(json, name, 'application/json', files)] };
  return {
    value: structuredContent,
    ...(links.length === 0 ? {} : { links }),
    ...(written.length === 0 ? {} : { files: written }),
  };
}

async function tellParts(parts: readonly ContentBlock[], name: string, files: RunFiles): Promise<Item[]> {
  const items: Item[] = [];
  let left = maxValueBytes;
  for (const part of parts) {
    const item = await tellPart(part, name, files, left);
    if ('value' in item && typeof item.value === 'string') left -= item.value.length;
    items.push(item);
  }
  return items;
}

async function tellPart(part: ContentBlock, name: string, files: RunFiles, left: number): Promise<Item> {
  switch (part.type) {
    case 'text':
      return tellText(part.text, name, files, left);
    case 'image':
    case 'audio':
      return fileBytes(part.data, name, part.mimeType, files);
    case 'resource_link': {
      const { uri, name: named, size = null, mimeType = null } = part;
      return { link: { uri, name: named, size, media_type: mimeType } };
    }
    case 'resource': {
      const { resource } = part;
      if ('text' in resource) return tellText(resource.text, name, files, left);
      return fileBytes(resource.blob, name, resource.mimeType ?? 'application/octet-stream', files);
    }
  }
}

/** A text that is a JSON object or array is given as that. */
async function tellText(text: string, name: string, files: RunFiles, left: number): Promise<Item> {
  const parsed = parseJsonText(text);
  if (text.length > left || Buffer.byteLength(text) > left)
    return fileText(text, name, parsed === null ? 'text/plain' : 'application/json', files);
  return { value: parsed ?? text };
}

function parseJsonText(text: string): object | null {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    const value = JSON.parse(text) as object;
    return measureValue(value, maxResultTotal) === null ? null : value;
  } catch {
    return null;
  }
}

const fileEndings: Readonly<Record<string, string>> = {
  'application/json': 'json',
  'text/plain': 'txt',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
  'application/pdf': 'pdf',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
};

async function fileText(text: string, name: string, mediaType: string, files: RunFiles): Promise<Item> {
  return { file: await files.add(`${name}.${fileEndings[mediaType]!}`, mediaType, Buffer.from(text)) };
}

async function fileBytes(base64: string, name: string, mediaType: string, files: RunFiles): Promise<Item> {
  const ending = fileEndings[mediaType] ?? 'bin';
  return { file: await files.add(`${name}.${ending}`, mediaType, Buffer.from(base64, 'base64')) };
}

const maxCallErrorLength = 10_000;

/** What a failed call says. */
export function readErrorText({ content }: CallToolResult): string {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const text = texts.join('\n').slice(0, maxCallErrorLength).toWellFormed();
  return text === '' ? 'It failed and did not say why.' : text;
}
