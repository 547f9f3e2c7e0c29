/**
 * `save`, by which code writes the bytes of a stored file or of a link into its folders: a tool like any other to those
 * who grant, bound and record calls, but with no function among those of its server. Whose bytes may be read is decided
 * by `OpenSource`.
 */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { asWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { hashDefinition, ownServer, type ToolDefinition } from '../../core/offer/toolbox.ts';
import { toErrorResult, type ToolContext } from '../../core/offer/tool.ts';
import type { FileSource, RunFiles } from './run-files.ts';

/** Finds the bytes of a stored file or of a link of ours; null where it is neither. */
export type OpenSource = (context: ToolContext, source: string) => Promise<FileSource | null>;

const makeTextKeys = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { type: 'string', minLength: 1, maxLength: 4096 }]));

const described = {
  name: 'save',
  title: 'Save a file or a link',
  description: 'Writes the bytes of a stored file, by its file_id, or of a download link to a new file.',
  inputSchema: {
    type: 'object',
    properties: makeTextKeys('source', 'path'),
    required: ['source', 'path'],
    additionalProperties: false,
  },
  outputSchema: null,
  // It reads what the run was not given, so that no pattern grants it; a file that is there is never overwritten.
  annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
} as const;

export const saveToTool: ToolDefinition = {
  ...described,
  server: ownServer,
  nameThere: described.name,
  hash: hashDefinition(described),
};

export const isSaveTool = ({ name, server }: Pick<ToolDefinition, 'name' | 'server'>): boolean =>
  name === saveToTool.name && server === ownServer;

export interface SaveOptions {
  readonly context: ToolContext;
  readonly files: RunFiles;
  readonly openSource: OpenSource;
}

/** Saves, and says what to record of the arguments. */
export async function saveSource(
  { context, files, openSource }: SaveOptions,
  { source, path, ...others }: Record<string, unknown>,
): Promise<{ readonly result: CallToolResult; readonly kept: Record<string, unknown> }> {
  let shown = typeof source === 'string' ? hideToken(source) : source;
  try {
    if (typeof source !== 'string' || typeof path !== 'string' || Object.keys(others).length > 0)
      throw new WorkcrateError('invalid_input', 'save takes source and path, both as text.');
    const found = await openSource(context, source);
    if (found === null)
      throw new WorkcrateError(
        'not_found',
        'Only a file_id of yours and a download link of this server can be saved.',
      );
    shown = found.origin;
    const written = await files.save(path, found);
    return { result: { content: [], structuredContent: { ...written } }, kept: { source: shown, path } };
  } catch (error) {
    const result = toErrorResult(asWorkcrateError(error));
    return { result, kept: { source: shown, path, ...others } };
  }
}

/** The token of a link is written nowhere, whether it opens something or not. */
const hideToken = (source: string): string => source.replace(/(\/files\/)[^/?#]+.*$/s, '$1…');
