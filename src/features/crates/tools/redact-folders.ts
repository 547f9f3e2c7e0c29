/** Redacts the server's folders from what tools answer, for servers with several users. */
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import type { DeclaredTool } from '../../../core/offer/tool.ts';

/** Shortens paths of the server in a text: users see `crates/users/ada/x.zip`, not where that is on the disk. */
export type RedactFolders = (text: string) => string;

/** Only the operator needs to know where a source is on the disk: answers and errors name its last folder only. */
function createFolderRedaction(sourceUrls: readonly string[]): RedactFolders {
  const folders = sourceUrls.filter((url) => url.startsWith('file:'));
  return (text) => folders.reduce((shown, url) => shown.replaceAll(url, `${getLastUrlFolder(url)}/`), text);
}

const getLastUrlFolder = (url: string): string => url.split('/').at(-2)!;

interface SharedSources {
  readonly sourceUrls: readonly string[];
  /** Whether there are several users. */
  readonly isForSeveral: boolean;
}

/** Where there are several users, errors do not say where a source is on the disk, as in the answers of tools. */
export async function hideFolders<T>(
  { sourceUrls, isForSeveral }: SharedSources,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isForSeveral || !isWorkcrateError(error)) throw error;
    const { code, message, cause, details } = error;
    const hide = createFolderRedaction(sourceUrls);
    throw new WorkcrateError(code, hide(message), { cause, details: { ...details } });
  }
}

/** Hides them from the answers of tools where there are several users. A single user is the operator too. */
export const redactCrateTools = <Room extends { readonly crates: SharedSources }>(
  tools: readonly DeclaredTool<Room>[],
): DeclaredTool<Room>[] => tools.map(redactToolFolders);

/** Wraps a tool so that every text it answers goes through the redaction. */
function redactToolFolders<Room extends { readonly crates: SharedSources }>(
  tool: DeclaredTool<Room>,
): DeclaredTool<Room> {
  return {
    ...tool,
    async handle(room, input, context) {
      const { sourceUrls, isForSeveral } = room.crates;
      if (!isForSeveral) return tool.handle(room, input, context);
      const hide = createFolderRedaction(sourceUrls);
      const progress: typeof context.progress = (done, total, message) =>
        context.progress(done, total, message === undefined ? message : hide(message));
      return hideFolders(room.crates, async () => {
        const answer = await tool.handle(room, input, { ...context, progress });
        return mapStringsDeep(answer, hide) as typeof answer;
      });
    },
  };
}

function mapStringsDeep(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((one) => mapStringsDeep(one, map));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapStringsDeep(one, map)]));
}
