import type { Files } from '../../files/files.ts';
import { linkAnswer } from '../../links/link-result.ts';
import type { Links } from '../../links/links.ts';
import type { ToolContext } from '../../mcp/tool.ts';

export interface LargeOptions {
  readonly files: Pick<Files, 'add'>;
  readonly links: Pick<Links, 'share'>;
  /** Seconds that what does not fit into an answer is kept. */
  readonly fileTtl: number;
  readonly baseUrl: () => string;
}

/** Keeps what is too large for the conversation as a file, and gives a link to it. */
export async function byLink(
  { files, links, fileTtl, baseUrl }: LargeOptions,
  { caller, signal }: ToolContext,
  name: string,
  bytes: Iterable<Uint8Array>,
) {
  const file = { name, origin: 'client', keepSeconds: fileTtl };
  const stored = await files.add(caller, file, chunked(bytes), signal);
  const shared = await links.share(caller, stored.id, { ttlSeconds: fileTtl, singleUse: false });
  return { fileId: stored.id, ...linkAnswer(shared, baseUrl()) };
}

async function* chunked(bytes: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* bytes;
}
