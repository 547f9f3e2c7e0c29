import type { Files } from '../../files/files.ts';
import { linkAnswer } from '../../links/link-result.ts';
import type { Links } from '../../links/links.ts';
import type { ToolContext } from '../../mcp/tool.ts';
import { createByUser } from '../ladder/by-user.ts';

export interface LargeOptions {
  readonly files: Pick<Files, 'add' | 'find'>;
  readonly links: Pick<Links, 'share'>;
  /** Seconds that what does not fit into an answer is kept. */
  readonly fileTtl: number;
  readonly baseUrl: () => string;
}

/** What is too large for the conversation: kept as a file, with a link to it. */
export function createLarge({ files, links, fileTtl, baseUrl }: LargeOptions) {
  /** Who asks for the same again gets the file that there is. */
  const known = createByUser<string>({ each: 1000, users: 10_000 });

  async function linkTo({ caller }: ToolContext, fileId: string) {
    const shared = await links.share(caller, fileId, { ttlSeconds: fileTtl, singleUse: false });
    return { fileId, ...linkAnswer(shared, baseUrl()) };
  }

  async function store({ caller, signal }: ToolContext, name: string, bytes: Iterable<Uint8Array>) {
    const file = { name, origin: 'client', keepSeconds: fileTtl };
    return (await files.add(caller, file, chunked(bytes), signal)).id;
  }

  return {
    linkTo,

    async byLink(context: ToolContext, name: string, bytes: Iterable<Uint8Array>) {
      return linkTo(context, await store(context, name, bytes));
    },

    /** Once for each state of a file. */
    async byOneLink(context: ToolContext, name: string, sha256: string, bytes: Uint8Array) {
      const { user } = context.caller;
      const key = JSON.stringify([name, sha256]);
      const fileId = known.get(user, key);
      if (fileId !== undefined && (await files.find(context.caller, fileId)) !== null)
        return linkTo(context, fileId);
      const stored = await store(context, name, [bytes]);
      known.set(user, key, stored);
      return linkTo(context, stored);
    },
  };
}

export type Large = ReturnType<typeof createLarge>;

async function* chunked(bytes: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* bytes;
}
