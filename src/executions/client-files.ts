import { z } from 'zod';
import { WorkcrateError } from '../errors.ts';
import { isQuestion, type Question, type ToolContext } from '../mcp/tool.ts';
import type { OtherFile } from './given-files.ts';

/** A file of the client's as it came, or a question that has to be answered first. */
export type ReadClientFile = (context: ToolContext, path: string) => Promise<ClientFile | Question>;

interface ClientFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly rung: string;
}

export const clientFiles = z
  .array(
    z.strictObject({
      path: z.string().min(1).max(4096).describe('In your project, such as docs/data.csv'),
      as: z.string().min(1).max(255).optional().describe('Its name there; default: the end of its path'),
    }),
  )
  .max(20)
  .optional()
  .describe('Files on your side to put into the working directory first; see read_client_file');

/** One after the other: what has come is kept, so that the next round goes on with the next file. */
export async function findClientFiles(
  read: ReadClientFile | undefined,
  context: ToolContext,
  asked: z.output<typeof clientFiles>,
): Promise<readonly OtherFile[] | Question> {
  if (asked === undefined || asked.length === 0) return [];
  demandAllowed(read, context);
  const found: OtherFile[] = [];
  const known = new Map<string, ClientFile>();
  for (const { path, as } of asked) {
    const file = known.get(path) ?? (await read!(context, path));
    if (isQuestion(file)) return file;
    known.set(path, file);
    const { bytes, rung } = file;
    found.push({
      name: as ?? file.path.slice(file.path.lastIndexOf('/') + 1),
      origin: { client_path: file.path, rung },
      size: bytes.length,
      open: () => oneChunk(bytes),
    });
  }
  return found;
}

function demandAllowed(read: ReadClientFile | undefined, context: ToolContext): void {
  if (read === undefined)
    throw new WorkcrateError('unsupported', 'This server asks clients for no files. Leave client_files out.');
  if (!context.mayUse('client'))
    throw new WorkcrateError(
      'forbidden',
      'Files of the client need the scope client, which this key or token lacks. Ask the operator for one that has it.',
    );
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
