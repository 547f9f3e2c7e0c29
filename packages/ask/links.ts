/**
 * Finds the download links in the results of tools: in typed values and links to resources, and in texts only where there
 * is no typed value, since the output of code is in texts too. What the model itself wrote is not looked at.
 */
import type { CallToolResult } from '@modelcontextprotocol/client';

export interface LinkInText {
  readonly url: string;
  readonly filename: string | null;
}

const maxLinks = 200;
const maxValues = 20_000;
const maxUrlLength = 2000;

/** Links by their URL, each once, in the order in which they came. */
export function createLinkCollection() {
  const found = new Map<string, LinkInText>();
  const add = (url: unknown, name: unknown): void => {
    if (typeof url !== 'string' || !isHttpUrl(url) || (found.size >= maxLinks && !found.has(url))) return;
    const filename = typeof name === 'string' && name !== '' ? name : (found.get(url)?.filename ?? null);
    found.set(url, { url, filename });
  };
  return {
    list: (): LinkInText[] => [...found.values()],
    addFrom({ content = [], structuredContent }: Partial<CallToolResult>): void {
      addFromValue(structuredContent, add);
      for (const block of content) {
        if (block.type === 'resource_link') add(block.uri, block.name);
        if (block.type === 'text' && structuredContent === undefined)
          for (const [url] of block.text.matchAll(downloadUrlPattern)) add(url, null);
      }
    },
  };
}

/** A token is 43 characters of base64url. */
const downloadUrlPattern = /https?:\/\/[^\s"'`<>()[\]{}\\]{1,500}?\/files\/[\w-]{43}(?![\w-])/g;

const isHttpUrl = (url: string): boolean => url.length <= maxUrlLength && /^https?:\/\//.test(url);

function addFromValue(value: unknown, add: (url: unknown, name: unknown) => void): void {
  const waiting: unknown[] = [value];
  for (let seen = 0; waiting.length > 0 && seen < maxValues; seen++) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null) continue;
    const { downloadUrl, filename } = next as { downloadUrl?: unknown; filename?: unknown };
    add(downloadUrl, filename);
    // The last is taken first, so that links stay in their order.
    waiting.push(...Object.values(next).slice(0, maxValues).toReversed());
  }
}
