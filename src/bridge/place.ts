import type { ToolContext } from '../mcp/tool.ts';

/**
 * A project, seen from where: what a client on this machine gave is not for one elsewhere that names the same folder,
 * which is only what it says.
 */
export const placeOf = (
  root: string | null,
  { sharesMachine }: Pick<ToolContext, 'sharesMachine'>,
): string | null => (sharesMachine ? `here\0${root ?? ''}` : root);
