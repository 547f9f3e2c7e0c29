import type { ContentBlock } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Files } from '../files/files.ts';
import { linkAnswer, linkShape, linkTerms } from '../links/link-result.ts';
import type { Links } from '../links/links.ts';
import { defineTool, type Tool, type ToolAnswer, type ToolContext } from '../mcp/tool.ts';
import { base64Of, type Artifact, type Artifacts } from './artifacts.ts';
import { pictureType } from './picture.ts';

export interface ArtifactToolsOptions {
  readonly artifacts: Artifacts;
  readonly files: Files;
  readonly links: Links;
  readonly fileTtl: number;
  readonly maxTtl: number;
  readonly baseUrl: () => string;
}

/** Tools that hand out what runs left in /artifacts. */
export function artifactTools(options: ArtifactToolsOptions): Tool[] {
  return [listArtifacts(options), getArtifact(options)];
}

const mostNamesInText = 100;

function listArtifacts({ artifacts }: ArtifactToolsOptions): Tool {
  return defineTool({
    name: 'list_artifacts',
    group: 'artifacts',
    title: 'List artifacts',
    description:
      'Lists the files that your code left directly in /artifacts, by name. Folders, links and names that begin with a dot are not listed. get_artifact hands one out.',
    input: z.strictObject({}),
    output: z.object({ artifacts: z.array(z.string()), count: z.number().int() }),
    annotations: { readOnlyHint: true, openWorldHint: false },
    async handle(_input, { caller }) {
      const names = await artifacts.list(caller);
      return { text: namesAsText(names), structured: { artifacts: names, count: names.length } };
    },
  });
}

function namesAsText(names: readonly string[]): string {
  if (names.length === 0) return 'There are no artifacts. Code leaves one by writing a file to /artifacts.';
  // As JSON, so that a line break in a name does not pass for another name.
  const lines = names.slice(0, mostNamesInText).map((name) => JSON.stringify(name));
  const more = names.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

function inputOf(options: ArtifactToolsOptions) {
  return z.strictObject({
    name: z.string().max(4096).describe('Its name in /artifacts, as list_artifacts tells it'),
    delivery: z
      .enum(['link', 'base64'])
      .default('link')
      .describe('link: by URL, past the conversation, any size. base64: its bytes in this answer'),
    show: z
      .boolean()
      .default(false)
      .describe('Also show it here, if it is a PNG, JPEG, GIF or WebP of at most 1 MB'),
    ...linkTerms(options),
  });
}

type Input = z.output<ReturnType<typeof inputOf>>;

/** A link has all of the first fields and none of the others; base64 is the other way round. */
const gotten = linkShape.partial().extend({
  artifact_id: z.string().optional().describe('With delivery base64: its name'),
  data: z.string().optional().describe('With delivery base64: its bytes'),
  encoding: z.literal('base64').optional(),
});

type Answer = ToolAnswer<z.input<typeof gotten>>;

function getArtifact(options: ArtifactToolsOptions): Tool {
  return defineTool({
    name: 'get_artifact',
    group: 'artifacts',
    title: 'Get an artifact',
    description:
      'Hands out a file that your code left in /artifacts: by default as a link from which a person or a program fetches it, past the conversation. The link is to a copy made now.',
    input: inputOf(options),
    output: gotten,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    handle: (input, context) => {
      const wanted = { name: input.name, delivery: input.delivery, signal: context.signal };
      return options.artifacts.use(context.caller, wanted, async (artifact) => {
        const shown = input.show ? await picture(artifact, options.artifacts.sizeLimit) : [];
        const isLink = input.delivery === 'link';
        const answer = await (isLink ? linked(options, artifact, input, context) : encoded(artifact));
        return { ...answer, content: [...(answer.content ?? []), ...shown] };
      });
    },
  });
}

async function encoded(artifact: Artifact): Promise<Answer> {
  const { name, size } = artifact;
  const data = await base64Of(artifact);
  return {
    text: `${JSON.stringify(name)}, ${size} bytes: as base64 in the structured content.`,
    structured: { artifact_id: name, data, encoding: 'base64' },
  };
}

/** Copied, since a link promises bytes that stay the same and runs may write to the artifact again. */
async function linked(
  { files, links, baseUrl }: ArtifactToolsOptions,
  artifact: Artifact,
  { ttl_seconds: ttlSeconds, single_use: singleUse }: Input,
  { caller, signal }: ToolContext,
): Promise<Answer> {
  await files.demandRoom(caller, artifact.size);
  const file = { name: artifact.name, origin: 'artifact', keepSeconds: ttlSeconds };
  const { id } = await files.add(caller, file, artifact.bytes(), signal);
  return linkAnswer(await links.share(caller, id, { ttlSeconds, singleUse }), baseUrl());
}

const mostShown = 1024 * 1024;

/** The picture, or a word on why there is none. */
async function picture(artifact: Artifact, sizeLimit: number): Promise<ContentBlock[]> {
  const most = Math.min(mostShown, sizeLimit);
  if (artifact.size > most) return [{ type: 'text', text: `Not shown: it is larger than ${most} bytes.` }];
  const data = await base64Of(artifact);
  const mimeType = pictureType(Buffer.from(data.slice(0, 16), 'base64'));
  if (mimeType === null) return [{ type: 'text', text: 'Not shown: it is no PNG, JPEG, GIF or WebP.' }];
  return [{ type: 'image', data, mimeType }];
}
