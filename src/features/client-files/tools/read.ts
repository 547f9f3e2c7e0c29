/**
 * The tool `read_client_file`, and stored files for large answers, which `list_client_directory` has too. It asks no
 * client and checks no path: `client-files.ts` does.
 */
import { z } from 'zod';
import type { Clock } from '../../../platform/clock.ts';
import type { Files } from '../../../core/files/files.ts';
import { toLinkAnswer, linkShape } from '../../../core/links/link-result.ts';
import type { Links } from '../../../core/links/links.ts';
import { makeText } from '../../../core/offer/schema.ts';
import { declareTool, type ToolContext } from '../../../core/offer/tool.ts';
import { quoteName } from '../../../platform/text/text.ts';
import type { ClientFiles, FoundFile, ReadClientFile } from '../client-files.ts';
import { isInstructions } from '../requests/file-request.ts';
import {
  describeAge,
  describeMethod,
  describeRefresh,
  maxAllowedAgeSeconds,
  toAgeSeconds,
} from '../freshness.ts';
import { createByUser } from '../requests/by-user.ts';
import { decodeFileText, normalizeEncoding, looksBinary, toBase64, type DecodedText } from '../text/text.ts';
import {
  arrivalMethodSchema,
  createPathSchema,
  describeAllowedFolders,
  describeInstructions,
  instructionsShape,
  requestInputShape,
} from './instructions.ts';

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

export interface ReadRoom {
  readonly bridge: Pick<ClientFiles, 'read'>;
  readonly large: LargeAnswers;
  readonly clock: Clock;
}

/** What fits into a conversation; base64 takes a third more. */
const maxReadShownBytes = 64 * 1024;

const readOutputSchema = z.object({
  status: z.enum(['read', 'offered']).describe('offered: nothing is here yet, offer says what to do'),
  path: z.string(),
  rung: arrivalMethodSchema,
  offer: instructionsShape.optional(),
  source: z.string().optional().describe('How it came, in words'),
  age_s: z.number().optional().describe('Seconds since it came, or was last seen to be unchanged'),
  cached: z.boolean().optional().describe('Whether it is a remembered copy'),
  to_refresh: z.string().nullable().optional().describe('How to have a newer one'),
  local_path: z.string().optional().describe('Where the server read it in place'),
  size: z.number().int().optional(),
  sha256: z.string().optional(),
  mtime: z
    .number()
    .nullable()
    .optional()
    .describe('When it changed, in milliseconds since 1970; null if unknown'),
  encoding: z.string().nullable().optional().describe('The one that was used; null for bytes'),
  fell_back: z
    .boolean()
    .optional()
    .describe('Whether another encoding was used, since the wanted one did not fit'),
  text: z.string().optional(),
  data: z.string().optional().describe('The bytes as base64'),
  file_id: z
    .string()
    .optional()
    .describe('A file that is not text, or too large for the conversation, for other tools'),
  link: linkShape.optional(),
});

type ReadOutput = z.input<typeof readOutputSchema>;

const isWholeNumber = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

/** How old an earlier copy may be. */
const ageInputShape = {
  max_age_s: z
    .number()
    .refine(
      (age) => age >= 0 && age <= maxAllowedAgeSeconds,
      `max_age_s is 0 to ${maxAllowedAgeSeconds} seconds.`,
    )
    .optional()
    .describe('Take a copy up to this old; default 0, or 3600 if a person gave it'),
  refresh: z.boolean().optional().describe('Take none'),
};

/** What may be read is in the description. */
export function declareReadTool(readable: readonly string[]) {
  return declareTool({
    name: 'read_client_file',
    view: 'ui://workcrate/file-picker',
    group: 'client',
    title: 'Read a file of the client',
    description: `Reads a file of the user's project on the client's machine. If the answer is a command, run it there, then call again. Each call asks anew, so edits are seen. For code, use client_files of execute_code. ${describeAllowedFolders(readable)}`,
    input: z.strictObject({
      path: createPathSchema('docs/plan.md'),
      encoding: makeText(100).optional(),
      binary: z.boolean().optional().describe('Give base64'),
      ...ageInputShape,
      ...requestInputShape,
      size: z.number().refine(isWholeNumber, 'size is a whole number of bytes.').optional(),
      sha256: z
        .string()
        .refine((digest) => /^[0-9a-fA-F]{64}$/.test(digest), 'sha256 must be 64 hex digits.')
        .optional(),
    }),
    output: readOutputSchema,
    annotations: { readOnlyHint: true, openWorldHint: false },
    auditFields: { subject: ['path'] },
    async handle({ bridge, large, clock }: ReadRoom, { max_age_s: maxAgeSeconds, ...input }, context) {
      const answer = await bridge.read({ ...input, maxAgeSeconds }, context);
      if ('ask' in answer) return answer;
      if (isInstructions(answer))
        return describeInstructions(answer, ['paste a short text with guide_cache_file']);
      const { binary = false, encoding = null } = input;
      return answerWithFile(large, answer, { binary, encoding, now: clock() }, context);
    },
  });
}

interface AnswerTerms {
  readonly binary: boolean;
  readonly encoding: string | null;
  readonly now: number;
}

async function answerWithFile(
  large: LargeAnswers,
  file: FoundFile,
  terms: AnswerTerms,
  context: ToolContext,
) {
  const { path, sha256 } = file;
  const facts = toFacts(file, terms.now);
  const answerWith = (form: string, rest: string, structured: ReadOutput) => ({
    text: `${quoteName(path)}, ${facts.size} bytes, ${form}, ${describeArrival(file, facts)}${rest}`,
    structured,
  });
  const answerByLink = ({ fileId, text, structured: link, content }: LinkedAnswer, why: string) => ({
    ...answerWith(why, `.\n${fileId}: ${text}`, { ...facts, encoding: null, file_id: fileId, link }),
    content: content!,
  });
  if ('stored' in file) return answerByLink(await large.linkTo(context, file.stored.id), tooLargeReason);
  const { bytes } = file;
  if (bytes.length > maxReadShownBytes)
    return answerByLink(await large.byOneLink(context, path, sha256, bytes), tooLargeReason);
  if (!terms.binary && terms.encoding === null && file.encoding === null && looksBinary(bytes))
    return answerByLink(
      await large.byOneLink(context, path, sha256, bytes),
      'not text (binary: true gives the bytes as base64)',
    );
  if (terms.binary) {
    const data = toBase64(bytes);
    return answerWith('as base64', `:\n${data}`, { ...facts, encoding: null, data });
  }
  const { text, encoding, fellBack } = decodeFile(file, terms.encoding);
  const since = fellBack ? `, since it is not in ${terms.encoding ?? file.encoding}` : '';
  const structured: ReadOutput = { ...facts, encoding, fell_back: fellBack, text };
  return answerWith(`in ${encoding}${since}`, `:\n${text}`, structured);
}

const tooLargeReason = 'too large for the conversation';

function toFacts(file: FoundFile, now: number) {
  const { path, rung, sha256, mtime, cached, receivedAt, localPath } = file;
  return {
    status: 'read' as const,
    path,
    rung,
    source: describeMethod(rung),
    age_s: toAgeSeconds(receivedAt, now),
    cached,
    to_refresh: describeRefresh(rung, cached),
    ...(localPath === null ? {} : { local_path: localPath }),
    size: 'stored' in file ? file.stored.size : file.bytes.length,
    sha256,
    mtime,
  };
}

/** How it came, since when, and how to have a newer one. */
function describeArrival(
  { receivedAt, mtime, localPath, cached }: FoundFile,
  { source, age_s, to_refresh }: ReturnType<typeof toFacts>,
): string {
  const changed = mtime === null ? '' : `, changed ${new Date(mtime).toISOString().slice(0, 19)}Z`;
  if (localPath !== null)
    return `${source} at ${quoteName(localPath)}${changed}${cached ? ', unchanged since the last read' : ''}`;
  return `${source} ${describeAge(receivedAt, receivedAt + age_s * 1000)}${changed} (${to_refresh})`;
}

/** What somebody typed is in the encoding that they typed it in, whatever was expected of the file. */
function decodeFile({ bytes, encoding: known }: ReadClientFile, wanted: string | null): DecodedText {
  const decoded = decodeFileText(bytes, known ?? wanted);
  const isOther = known !== null && wanted !== null && normalizeEncoding(wanted) !== normalizeEncoding(known);
  return { ...decoded, fellBack: decoded.fellBack || isOther };
}

type LinkedAnswer = Awaited<ReturnType<LargeAnswers['linkTo']>>;
