/**
 * The tool `read_client_file`, and what it shares with `list_client_directory`: common input fields, instructions for
 * an upload, and stored files for large answers. It asks no client and checks no path: `client-files.ts` does.
 */
import { z } from 'zod';
import type { Files } from '../../files/files.ts';
import { toLinkAnswer, linkShape } from '../../links/link-result.ts';
import type { Links } from '../../links/links.ts';
import { defineTool, type Tool, type ToolContext } from '../../mcp/tool.ts';
import { transferMethods, arrivalMethods } from '../client-file.ts';
import { isInstructions, type ClientFiles, type FoundFile, type ReadFile } from '../client-files.ts';
import { createByUser } from '../requests/by-user.ts';
import type { ClientInstructions } from '../requests/file-request.ts';
import { decodeText, normalizeEncoding, looksBinary, toBase64, type DecodedText } from '../text/text.ts';

export interface LargeAnswersOptions {
  readonly files: Pick<Files, 'add' | 'find'>;
  readonly links: Pick<Links, 'share'>;
  /** Seconds that what does not fit into an answer is kept. */
  readonly fileTtl: number;
  readonly baseUrl: () => string;
}

/** Answers that are too large for the conversation: stored as a file, with a link. */
export function createLargeAnswers({ files, links, fileTtl, baseUrl }: LargeAnswersOptions) {
  /** Who asks for the same again gets the file that there is. */
  const known = createByUser<string>({ each: 1000, users: 10_000 });

  async function linkTo({ caller }: ToolContext, fileId: string) {
    const shared = await links.share(caller, fileId, { ttlSeconds: fileTtl, singleUse: false });
    return { fileId, ...toLinkAnswer(shared, baseUrl()) };
  }

  async function store({ caller, signal }: ToolContext, name: string, bytes: Iterable<Uint8Array>) {
    const file = { name, origin: 'client', keepSeconds: fileTtl };
    return (await files.add(caller, file, toAsyncChunks(bytes), signal)).id;
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

export type LargeAnswers = ReturnType<typeof createLargeAnswers>;

async function* toAsyncChunks(bytes: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* bytes;
}

/** Which folders may be asked for, in the words of a description. */
export const describeAllowed = (folders: readonly string[]): string =>
  `Allowed folders of the project: ${folders.slice(0, 20).join(', ')}.`;

/** What both tools take. */
export const requestInputShape = {
  via: z
    .enum(transferMethods)
    .optional()
    .describe(
      'How to get it; default: the best way that the client has. upload: sent by your shell, outside the conversation. direct: read in place, where client and server share a machine, after a proof by your shell',
    ),
  proof: z
    .string()
    .max(200)
    .optional()
    .describe('What the proof command of an earlier answer printed: files are then read without being sent'),
};

export const createPathSchema = (what: string) =>
  z.string().min(1).max(4096).describe(`${what}, from the project's folder, such as docs/plan.md`);

export const methodSchema = z.enum(transferMethods).describe('How it came, or will come');

const arrivalMethodSchema = z
  .enum(arrivalMethods)
  .describe('How it came, or will come; given: by guide_cache_file');

export const instructionsShape = z
  .object({
    command: z
      .string()
      .describe("Run it with sh in the project's folder, then call again with the same input"),
    uploadUrl: z.string().nullable(),
    pageUrl: z.string().nullable().describe('A page where a person can upload it, if there is no shell'),
    expiresAt: z.string(),
    proofCommand: z.string().nullable(),
  })
  .describe('What to do before calling again');

/** An offer as both tools answer it, and what else can be done. */
export function describeInstructions(
  { offer, path, rung, expiresAt, ...ways }: ClientInstructions,
  orElse = '',
) {
  const { command, pageUrl, proofCommand } = ways;
  const until = new Date(expiresAt).toISOString();
  const instead =
    offer === 'upload' && proofCommand !== null
      ? `\nOr, to let the server read all files without sending them, run ${proofCommand} and call again without via, with proof set to what it prints.`
      : '';
  const text =
    offer === 'upload'
      ? `Not here yet. Run this with sh in the project's folder before ${until.slice(0, 16)}Z, then call again with the same input (it sends nothing if the path contains a link):\n${command}${instead}\nWithout a shell: give the user this page to upload it, ${pageUrl}${orElse}`
      : `Show that this server can read your files: run this, then call again with proof set to what it prints:\n${command}`;
  const structured = {
    status: 'offered' as const,
    path,
    rung,
    offer: { ...ways, expiresAt: until },
  };
  return { text, structured };
}

export interface ReadToolOptions extends LargeAnswersOptions {
  readonly bridge: Pick<ClientFiles, 'read'>;
  /** What may be read, for the description. */
  readonly readable: readonly string[];
}

/** What fits into a conversation; base64 takes a third more. */
const maxShownBytes = 64 * 1024;
const tooLargeReason = 'too large for the conversation';

const readOutputSchema = z.object({
  status: z.enum(['read', 'offered']).describe('offered: nothing is here yet, offer says what to do'),
  path: z.string(),
  rung: arrivalMethodSchema,
  offer: instructionsShape.optional(),
  size: z.number().int().optional(),
  sha256: z.string().optional(),
  mtime: z.number().nullable().optional().describe('Milliseconds since 1970; null if unknown'),
  cached: z.boolean().optional(),
  encoding: z.string().nullable().optional().describe('The one that was used; null for bytes'),
  fell_back: z.boolean().optional().describe('Whether the encoding asked for did not fit'),
  text: z.string().optional(),
  data: z.string().optional().describe('The bytes as base64'),
  file_id: z
    .string()
    .optional()
    .describe('A file that is not text, or too large for the conversation, for other tools'),
  link: linkShape.optional(),
});

type ReadOutput = z.input<typeof readOutputSchema>;

export function createReadTool(options: ReadToolOptions): Tool {
  const large = createLargeAnswers(options);
  return defineTool({
    name: 'read_client_file',
    group: 'client',
    title: 'Read a file of the client',
    description: `Reads a file of the user's project, which is on the client, not on this server. With a shell in the project's folder, set via to upload: the answer has the command that sends the file outside the conversation; run it, then call again. Otherwise the client is asked in the way it supports. Large files come as a link and a file_id. ${describeAllowed(options.readable)}`,
    input: z.strictObject({
      path: createPathSchema('File'),
      encoding: z.string().max(100).optional().describe('Of the text; default: detected'),
      binary: z.boolean().optional().describe('Give the exact bytes as base64'),
      ...requestInputShape,
      refresh: z.boolean().optional().describe('Ask again, even if the file is cached'),
      size: z.number().int().min(0).optional().describe('In bytes, if known: compared with what comes'),
      sha256: z
        .string()
        .regex(/^[0-9a-fA-F]{64}$/, 'sha256 must be 64 hex digits')
        .optional()
        .describe('If known: compared with what comes'),
    }),
    output: readOutputSchema,
    annotations: { readOnlyHint: true, openWorldHint: true },
    auditFields: { subject: ['path'] },
    async handle(input, context) {
      const answer = await options.bridge.read(input, context);
      if ('ask' in answer) return answer;
      if (isInstructions(answer))
        return describeInstructions(answer, ' – or paste a short text with guide_cache_file');
      const { binary = false, encoding = null } = input;
      return answerWithFile(large, answer, { binary, encoding }, context);
    },
  });
}

async function answerWithFile(
  large: LargeAnswers,
  file: FoundFile,
  how: { readonly binary: boolean; readonly encoding: string | null },
  context: ToolContext,
) {
  const { path, rung, sha256, mtime, cached } = file;
  const size = 'stored' in file ? file.stored.size : file.bytes.length;
  const facts = { status: 'read', path, rung, size, sha256, mtime, cached } as const;
  const summary = `${path}: ${size} bytes, by ${rung}${cached ? ', cached' : ''}`;
  if ('stored' in file)
    return answerWithLink(
      await large.linkTo(context, file.stored.id),
      facts,
      `${summary}, ${tooLargeReason}`,
    );
  const { bytes } = file;
  if (size > maxShownBytes)
    return answerWithLink(
      await large.byOneLink(context, path, sha256, bytes),
      facts,
      `${summary}, ${tooLargeReason}`,
    );
  if (!how.binary && how.encoding === null && file.encoding === null && looksBinary(bytes)) {
    const link = await large.byOneLink(context, path, sha256, bytes);
    return answerWithLink(link, facts, `${summary}, not text (set binary for the bytes as base64)`);
  }
  if (how.binary) {
    const structured: ReadOutput = { ...facts, encoding: null, data: toBase64(bytes) };
    return { text: `${summary}, as base64:\n${structured.data}`, structured };
  }
  const { text, encoding, fellBack } = decodeFile(file, how.encoding);
  const structured: ReadOutput = { ...facts, encoding, fell_back: fellBack, text };
  const since = fellBack ? `, since it is not in ${how.encoding ?? file.encoding}` : '';
  return { text: `${summary}, in ${encoding}${since}:\n${text}`, structured };
}

/** What somebody typed is in the encoding that they typed it in, whatever was expected of the file. */
function decodeFile({ bytes, encoding: known }: ReadFile, wanted: string | null): DecodedText {
  const decoded = decodeText(bytes, known ?? wanted);
  const isOther = known !== null && wanted !== null && normalizeEncoding(wanted) !== normalizeEncoding(known);
  return { ...decoded, fellBack: decoded.fellBack || isOther };
}

type Linked = Awaited<ReturnType<LargeAnswers['linkTo']>>;

function answerWithLink(
  { fileId, text, structured: link, content }: Linked,
  facts: ReadOutput,
  summary: string,
) {
  const structured: ReadOutput = { ...facts, encoding: null, file_id: fileId, link };
  return {
    text: `${summary}: ${fileId}. ${text}`,
    structured,
    content: content!,
  };
}
