import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { Tool } from '../../mcp/tool.ts';

/** Users are told of folders of the server by this: `crates/users/ada/x.zip`, and not by the path there. */
export type HideFolders = (text: string) => string;

/** Where a source is on the server's disk is the operator's business: answers and errors name its last folder alone. */
export function hideFoldersOf(sourceUrls: readonly string[]): HideFolders {
  const folders = sourceUrls.filter((url) => url.startsWith('file:'));
  return (text) => folders.reduce((shown, url) => shown.replaceAll(url, `${lastName(url)}/`), text);
}

const lastName = (url: string): string => url.split('/').at(-2)!;

/** The tool, whose every text has been through `hide`. */
export function withHiddenFolders(tool: Tool, hide: HideFolders): Tool {
  const hidden = <T>(value: T): T => mapTexts(value, hide) as T;
  return {
    ...tool,
    async handle(input, context) {
      const progress: typeof context.progress = (done, total, message) =>
        context.progress(done, total, message === undefined ? message : hide(message));
      try {
        return hidden(await tool.handle(input, { ...context, progress }));
      } catch (error) {
        if (!isWorkcrateError(error)) throw error;
        const { code, message, cause, details } = error;
        throw new WorkcrateError(code, hide(message), { cause, details: { ...details } });
      }
    },
  };
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, map));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapTexts(one, map)]));
}
