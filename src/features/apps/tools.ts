/**
 * The tools that only views call: they show the beginning of a file, and take a file in pieces, since a view has no
 * network. Each is in the group of what it shows, so that a key needs the same scope as for the tool of an agent.
 */
import { z } from 'zod';
import type { Artifacts } from '../../core/artifacts/artifacts.ts';
import type { CrateTerms } from '../crates/feature.ts';
import type { Crates } from '../crates/crates.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { guessMediaType, type Files } from '../../core/files/files.ts';
import type { Uploads } from '../../core/links/links.ts';
import { listAs, makeText, makeWholeNumber } from '../../core/offer/schema.ts';
import { declareTool, type DeclaredTool } from '../../core/offer/tool.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';
import { maxSentBytes, pieceBytes } from './limits.ts';
import { rowsInput, showFile, shownFileShape } from './shown-file.ts';
import type { TableReader } from './table-reader.ts';

/** What these tools work on. */
export interface ViewsRoom {
  readonly artifacts: Artifacts;
  readonly files: Files;
  readonly crates: Crates;
  /** Those whose ends the audit log has, as for a file that came by HTTP. */
  readonly viewUploads: Pick<Uploads, 'find' | 'begin' | 'write'>;
  readonly tables: TableReader;
}

/** Tools that only views call. */
export const declareViewTools = (terms: CrateTerms): DeclaredTool<ViewsRoom>[] => [
  viewArtifactTool,
  viewFileTool,
  declareViewCrateFileTool(terms),
  sendPieceTool,
];

const viewAnnotations = { readOnlyHint: true, openWorldHint: false };

const viewArtifactTool = declareTool({
  name: 'view_artifact',
  group: 'artifacts',
  title: 'Look into an artifact',
  description: 'Shows the beginning of a file in /artifacts to the person who looks at a view.',
  isForViews: true,
  input: z.strictObject({ name: makeText(4096), ...rowsInput }),
  output: shownFileShape,
  annotations: viewAnnotations,
  auditFields: { subject: ['name'] },
  handle: ({ artifacts, tables }: ViewsRoom, { name, ...rows }, { caller, signal }) =>
    artifacts.use(caller, { name, delivery: 'resource', signal }, (artifact) => {
      const { size } = artifact;
      const mediaType = guessMediaType(name);
      const readStart = (most: number) => collectStart(artifact.bytes(), most);
      return showFile({ filename: name, size, mediaType, readStart }, rows, tables);
    }),
});

const viewFileTool = declareTool({
  name: 'view_file',
  group: 'files',
  title: 'Look into a stored file',
  description: 'Shows the beginning of a stored file to the person who looks at a view.',
  isForViews: true,
  input: z.strictObject({ file_id: makeText(100), ...rowsInput }),
  output: shownFileShape,
  annotations: viewAnnotations,
  auditFields: { subject: ['file_id'] },
  async handle({ files, tables }: ViewsRoom, { file_id, ...rows }, { caller }) {
    const file = await files.find(caller, file_id);
    if (file === null)
      throw new WorkcrateError('not_found', 'No file of yours has this id. list_files shows what there is.');
    await using object = await files.open(file);
    if (object === null)
      throw new WorkcrateError('bytes_gone', `The bytes of ${quoteName(file.name)} are gone. Send it again.`);
    const { name: filename, size, mediaType } = file;
    const readStart = (most: number) => collectStart(object.read(0, Math.min(most, object.size)), most);
    return await showFile({ filename, size, mediaType, readStart }, rows, tables);
  },
});

function declareViewCrateFileTool({ hasRemoteSources }: CrateTerms) {
  return declareTool({
    name: 'view_crate_file',
    group: 'crates',
    title: 'Look into a file of a crate',
    description: 'Shows the beginning of a file of a crate to the person who looks at a view.',
    isForViews: true,
    input: z.strictObject({ crate_id: makeText(100), path: makeText(4096), ...rowsInput }),
    output: shownFileShape,
    annotations: { ...viewAnnotations, openWorldHint: hasRemoteSources },
    auditFields: { subject: ['path', 'crate_id'] },
    async handle({ crates, tables }: ViewsRoom, { crate_id, path, ...rows }, { caller, signal }) {
      const { size, mediaType } = await crates.inside.describe(caller, crate_id, path, signal);
      const readStart = (most: number) =>
        collectStart(crates.inside.stream(caller, crate_id, path, signal), most);
      const filename = path.slice(path.lastIndexOf('/') + 1);
      return showFile({ filename, size, mediaType, readStart }, rows, tables);
    },
  });
}

const sendPieceTool = declareTool({
  name: 'send_piece',
  group: 'files',
  title: 'Send a piece of a file',
  description: 'Takes a piece of a file that a person picked in a view, for an upload of theirs.',
  isForViews: true,
  input: z.strictObject({
    token: makeText(200, 'Of the upload'),
    offset: makeWholeNumber(0, maxSentBytes, 'Where the piece begins'),
    size: makeWholeNumber(0, maxSentBytes, 'Of the whole file'),
    data: listAs(z.base64().max((pieceBytes / 3) * 4), { type: 'string', description: 'As base64' }),
  }),
  output: z.object({
    received: z.number().int(),
    file_id: z.string().nullable().describe('Once all of it is here'),
    filename: z.string(),
    sha256: z.string().nullable(),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  auditFields: { subject: [], made: ['filename'] },
  async handle({ viewUploads, files }: ViewsRoom, { token, offset, size, data }, { caller }) {
    const upload = await viewUploads.find(token);
    if (upload.owner !== caller.user)
      throw new WorkcrateError('upload_not_found', 'No upload of yours has this token. Request another.');
    await files.demandSpace(size);
    const bytes = Buffer.from(data, 'base64');
    // The first piece starts over: a person may try again after a failure.
    const begun = offset === 0 ? await viewUploads.begin(token, size) : null;
    const received = begun?.file
      ? begun
      : await viewUploads.write(token, {
          offset,
          fileLength: size,
          bodyLength: bytes.length,
          bytes: async function* () {
            yield bytes;
          },
        });
    const { file } = received;
    return {
      text:
        file === null
          ? `${formatBytes(received.size)} of ${formatBytes(size)} are here.`
          : `${quoteName(file.name)} is here: file_id ${file.id}.`,
      structured: {
        received: received.size,
        file_id: file?.id ?? null,
        filename: file?.name ?? upload.name,
        sha256: file?.sha256 ?? null,
      },
    };
  },
});

/** The first bytes of a stream, which is ended behind them. */
async function collectStart(bytes: AsyncIterable<Uint8Array>, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytes) {
    pieces.push(piece);
    size += piece.length;
    if (size >= most) break;
  }
  return Buffer.concat(pieces).subarray(0, most);
}
