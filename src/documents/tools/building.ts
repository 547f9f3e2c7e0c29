import { z } from 'zod';
import type { ContentBlock } from '@modelcontextprotocol/server';
import { WorkcrateError } from '../../errors.ts';
import type { Files } from '../../files/files.ts';
import { linkAnswer, linkShape, linkTerms } from '../../links/link-result.ts';
import type { Links, Webhook } from '../../links/links.ts';
import { defineTool, type Tool, type ToolContext } from '../../mcp/tool.ts';
import { belongingsOf, demandBelonging, type BelongingsOptions } from '../belongings.ts';
import { formats, type BuildRequest, type BuildResult, type Documents } from '../documents.ts';
import { bibliographyOf, buildInput, documentOf, layoutOf, type BuildInput } from './inputs.ts';

export interface BuildToolOptions extends BelongingsOptions {
  readonly documents: Documents;
  readonly files: Files;
  readonly links: Links;
  /** Told of every document that was built. */
  readonly exported: Webhook['exported'];
  readonly fileTtl: number;
  readonly maxTtl: number;
  readonly baseUrl: () => string;
}

const inputOf = (options: BuildToolOptions) => z.strictObject({ ...buildInput, ...linkTerms(options) });

type Input = z.output<ReturnType<typeof inputOf>>;

/** A word processor's template with pictures in it. */
const mostReference = 20 * 1024 ** 2;

const built = z.object({
  artifacts: z.array(
    linkShape.extend({ format: z.enum(formats), file_id: z.string().describe('As other tools take it') }),
  ),
  failures: z
    .array(z.object({ format: z.enum(formats), code: z.string(), message: z.string() }))
    .describe('Formats that could not be built; the others were'),
  warnings: z.array(z.string()),
  missingCitations: z.array(z.string()).describe('Keys that are cited and stand in no bibliography'),
  instructions: z.string(),
});

type Artifact = z.input<typeof built>['artifacts'][number];

export function buildTool(options: BuildToolOptions): Tool {
  return defineTool({
    name: 'build_exports_content',
    group: 'documents',
    title: 'Build a document',
    description:
      'Builds Markdown with citations, maths, tables and pictures into pdf, docx, html, odt, epub, latex, typst, pptx, markdown or plain text, and gives a link for each. Pictures: ![caption](plot.png) names one of your artifacts or files; nothing is fetched from the network. Citations: [@key] with bibliographyContent.',
    input: inputOf(options),
    output: built,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    auditFields: { subject: ['documentFile', 'outputBasename'] },
    async handle(input, context) {
      const { documents } = options;
      const pictures = belongingsOf(options, context);
      const request = await requestOf(input, pictures, documents.mostBytes);
      const result = await documents.build(context.caller, request, {
        signal: context.signal,
        pictures,
        progress: context.progress,
      });
      if (result.built.length === 0) throw allFailed(result);
      const handed: Handed[] = [];
      for (const one of result.built) handed.push(await handOut(options, one, input, context));
      return answerOf(handed, result);
    },
  });
}

async function requestOf(
  input: BuildInput,
  from: ReturnType<typeof belongingsOf>,
  most: number,
): Promise<BuildRequest> {
  const { referenceDoc, style, cslContent } = input;
  return {
    text: await documentOf(input, from, most),
    formats: [...new Set(input.formats)],
    layout: layoutOf(input),
    bibliography: await bibliographyOf(input, from, most),
    style: { name: style ?? null, content: cslContent ?? null },
    cites: input.useCiteproc,
    referenceDoc:
      referenceDoc === undefined ? null : await demandBelonging(from, referenceDoc, mostReference),
  };
}

/** The first speaks for all. */
function allFailed({ failures: [first] }: BuildResult): WorkcrateError {
  const { format, code, message } = first!;
  return new WorkcrateError(code, `${format} could not be built: ${message}`);
}

interface Handed {
  readonly artifact: Artifact;
  readonly line: string;
  readonly content: readonly ContentBlock[];
}

async function handOut(
  { files, links, exported, baseUrl }: BuildToolOptions,
  { format, written }: BuildResult['built'][number],
  { outputBasename, ttl_seconds: ttlSeconds, single_use: singleUse }: Input,
  { caller, signal }: ToolContext,
): Promise<Handed> {
  const { bytes, extension, mediaType } = written;
  const file = {
    name: `${outputBasename}${extension}`,
    mediaType,
    origin: 'document',
    keepSeconds: ttlSeconds,
  };
  const { id } = await files.add(caller, file, oneChunk(bytes), signal);
  const shared = await links.share(caller, id, { ttlSeconds, singleUse });
  await exported(format, shared);
  const link = linkAnswer(shared, baseUrl());
  return {
    artifact: { format, file_id: id, ...link.structured },
    line: `${format}: ${link.text}`,
    content: link.content ?? [],
  };
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const mostWarningsInText = 20;

function answerOf(handed: readonly Handed[], result: BuildResult) {
  const failures = [...result.failures];
  const warnings = [...result.warnings];
  const { missing } = result;
  const lines = [
    ...handed.map(({ line }) => line),
    ...failures.map(({ format, message }) => `${format} could not be built: ${message}`),
    ...warnings.slice(0, mostWarningsInText).map((warning) => `Warning: ${warning}`),
  ];
  return {
    text: lines.join('\n'),
    structured: {
      artifacts: handed.map(({ artifact }) => artifact),
      failures,
      warnings,
      missingCitations: [...missing],
      instructions: instructionsFor(handed.length),
    },
    content: handed.flatMap(({ content }) => content),
  };
}

function instructionsFor(count: number): string {
  const them = count === 1 ? 'the file' : 'each file';
  return `Give the person the downloadUrl of ${them}, or fetch it with curl -fL -OJ URL. The bytes do not pass through this conversation; after expiresAt the link is dead.`;
}
