import { z } from 'zod';
import { linkShape } from '../../links/link-result.ts';
import { defineTool, type Tool, type ToolContext } from '../../mcp/tool.ts';
import { isOffer, type Bridge, type HadFile, type ReadFile } from '../bridge.ts';
import { toBase64 } from '../text/base64.ts';
import { decode, type Decoded } from '../text/decode.ts';
import { encodingNamed } from '../text/names.ts';
import { looksLikeNoText } from '../text/no-text.ts';
import { createLarge, type Large, type LargeOptions } from './large.ts';
import { allowedText, offered, offerShape, pathShape, wayShape, wishShape } from './offer.ts';

export interface ReadToolOptions extends LargeOptions {
  readonly bridge: Pick<Bridge, 'read'>;
  /** What may be read, for the description. */
  readonly readable: readonly string[];
}

/** What fits into a conversation; base64 takes a third more. */
const mostShown = 64 * 1024;
const tooLarge = 'too large for the conversation';

const output = z.object({
  status: z.enum(['read', 'offered']).describe('offered: nothing is here yet, offer says what to do'),
  path: z.string(),
  rung: wayShape,
  offer: offerShape.optional(),
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

type Output = z.input<typeof output>;

export function readTool(options: ReadToolOptions): Tool {
  const large = createLarge(options);
  return defineTool({
    name: 'read_client_file',
    group: 'client',
    title: 'Read a file of the client',
    description: `Reads a file of the user's project, which is on the client, not on this server. With a shell in the project's folder, set via to upload: the answer has the command that sends the file outside the conversation; run it, then call again. Otherwise the client is asked in the way it supports. Large files come as a link and a file_id. ${allowedText(options.readable)}`,
    input: z.strictObject({
      path: pathShape('File'),
      encoding: z.string().max(100).optional().describe('Of the text; default: detected'),
      binary: z.boolean().optional().describe('Give the exact bytes as base64'),
      ...wishShape,
      refresh: z.boolean().optional().describe('Ask again, even if the file is cached'),
      size: z.number().int().min(0).optional().describe('In bytes, if known: compared with what comes'),
      sha256: z
        .string()
        .regex(/^[0-9a-fA-F]{64}$/, 'sha256 must be 64 hex digits')
        .optional()
        .describe('If known: compared with what comes'),
    }),
    output,
    annotations: { readOnlyHint: true, openWorldHint: true },
    auditFields: { subject: ['path'] },
    async handle(wish, context) {
      const answer = await options.bridge.read(wish, context);
      if ('ask' in answer) return answer;
      if (isOffer(answer)) return offered(answer, ' – or paste a short text with guide_cache_file');
      const { binary = false, encoding = null } = wish;
      return shown(large, answer, { binary, encoding }, context);
    },
  });
}

async function shown(
  large: Large,
  file: HadFile,
  how: { readonly binary: boolean; readonly encoding: string | null },
  context: ToolContext,
) {
  const { path, rung, sha256, mtime, cached } = file;
  const size = 'stored' in file ? file.stored.size : file.bytes.length;
  const facts = { status: 'read', path, rung, size, sha256, mtime, cached } as const;
  const told = `${path}: ${size} bytes, by ${rung}${cached ? ', cached' : ''}`;
  if ('stored' in file)
    return linked(await large.linkTo(context, file.stored.id), facts, `${told}, ${tooLarge}`);
  const { bytes } = file;
  if (size > mostShown)
    return linked(await large.byOneLink(context, path, sha256, bytes), facts, `${told}, ${tooLarge}`);
  if (!how.binary && how.encoding === null && file.encoding === null && looksLikeNoText(bytes)) {
    const link = await large.byOneLink(context, path, sha256, bytes);
    return linked(link, facts, `${told}, not text (set binary for the bytes as base64)`);
  }
  if (how.binary) {
    const structured: Output = { ...facts, encoding: null, data: toBase64(bytes) };
    return { text: `${told}, as base64:\n${structured.data}`, structured };
  }
  const { text, encoding, fellBack } = textOf(file, how.encoding);
  const structured: Output = { ...facts, encoding, fell_back: fellBack, text };
  const since = fellBack ? `, since it is not in ${how.encoding ?? file.encoding}` : '';
  return { text: `${told}, in ${encoding}${since}:\n${text}`, structured };
}

/** What somebody typed is in the encoding that they typed it in, whatever was expected of the file. */
function textOf({ bytes, encoding: known }: ReadFile, wanted: string | null): Decoded {
  const decoded = decode(bytes, known ?? wanted);
  const isOther = known !== null && wanted !== null && encodingNamed(wanted) !== encodingNamed(known);
  return { ...decoded, fellBack: decoded.fellBack || isOther };
}

type Linked = Awaited<ReturnType<Large['linkTo']>>;

function linked({ fileId, text, structured: link, content }: Linked, facts: Output, told: string) {
  const structured: Output = { ...facts, encoding: null, file_id: fileId, link };
  return {
    text: `${told}: ${fileId}. ${text}`,
    structured,
    content: content!,
  };
}
