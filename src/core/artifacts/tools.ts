/**
 * The tools `list_artifacts` and `get_artifact`. A link leads to a copy (`core/files/`), since runs may write to the
 * artifact again. Which names are allowed and how a file is opened safely is decided in `artifact.ts`.
 */
import type { ContentBlock } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Files } from '../files/files.ts';
import { toLinkAnswer, linkShape, toLinkTermFields, type LinkTermBounds } from '../links/link-result.ts';
import type { Links } from '../links/links.ts';
import { hideArguments, listAs, makeWholeNumber } from '../offer/schema.ts';
import { declareTool, type DeclaredTool, type ToolAnswer, type ToolContext } from '../offer/tool.ts';
import { maxModelPictureBytes } from '../../platform/pictures.ts';
import { escapeControls, quoteName, toPlainJson } from '../../platform/text/text.ts';
import { isPlainArtifactName } from './artifact.ts';
import { readAsBase64, maxNamesOnPage, type Artifact, type Artifacts, type NamePage } from './artifacts.ts';
import { readArtifactPicture } from './run-pictures.ts';

export interface ArtifactsRoom {
  readonly artifacts: Artifacts;
  readonly files: Files;
  readonly links: Links;
  readonly baseUrl: () => string;
}

/** Tools that hand out what runs left in /artifacts. */
export const declareArtifactTools = (terms: LinkTermBounds): DeclaredTool<ArtifactsRoom>[] => [
  listArtifactsTool,
  declareGetArtifactTool(terms),
];

/** Names on a page if the caller does not say how many: a model reads them all. */
const usualPage = 100;

/** What `list_artifacts` answers. */
export const artifactListShape = z.object({
  artifacts: z.array(z.string()),
  count: z.number().int().describe('How many are on this page'),
  total: z.number().int().describe('How many there are in all'),
  next: z.string().nullable().describe('Give it as `after` for the next page; null on the last'),
});

const listArtifactsTool = declareTool({
  name: 'list_artifacts',
  group: 'artifacts',
  title: 'List artifacts',
  description:
    'Lists the files directly in /artifacts by name, without folders, symbolic links and hidden files.',
  input: z.strictObject({
    limit: makeWholeNumber(1, maxNamesOnPage, `Default ${usualPage}, at most ${maxNamesOnPage}`).optional(),
    after: listAs(z.string().max(4096), {
      type: 'string',
      description: 'The next of the page before, or any name',
    }).optional(),
  }),
  output: artifactListShape,
  annotations: { readOnlyHint: true, openWorldHint: false },
  auditFields: { subject: [] },
  async handle({ artifacts }: ArtifactsRoom, { limit = usualPage, after = null }, { caller }) {
    const page = await artifacts.list(caller, { limit, after });
    const { names, total, next } = page;
    return {
      text: describeArtifactPage(page, after),
      structured: { artifacts: names, count: names.length, total, next },
    };
  },
});

function describeArtifactPage({ names, total, next }: NamePage, after: string | null): string {
  if (names.length === 0)
    return total === 0
      ? 'There are no artifacts. Code leaves one by writing a file to /artifacts.'
      : `There are no artifacts after ${toPlainJson(after)}, and ${total} in all.`;
  // As JSON, so that a line break in a name does not pass for another name.
  const lines = names.map((name) => toPlainJson(name));
  const unreachable = names.filter((name) => name.includes('\\')).length;
  // get_artifact refuses them, since they read as paths elsewhere.
  if (unreachable > 0)
    lines.push(
      `No artifact whose name has a backslash can be fetched (${unreachable} here). Rename it in /artifacts with execute_bash, or copy it under another name.`,
    );
  if (names.length === total) return lines.join('\n');
  const more = next === null ? '' : ` For the next page, call with after: ${toPlainJson(next)}`;
  return [...lines, `There are ${total} in all.${more}`].join('\n');
}

function makeGetArtifactInput(terms: LinkTermBounds) {
  return z.strictObject({
    name: listAs(z.string().max(4096), { type: 'string', description: 'Such as plot.png' }).optional(),
    /** The same; programs that know the tool by its older form give it. */
    artifact_path: z.string().max(4096).optional(),
    delivery: listAs(z.enum(['link', 'base64']).default('link'), {
      enum: ['link', 'base64'],
      description: 'Default link. base64: its bytes in this answer, instead of a link',
    }),
    show: listAs(z.boolean().default(false), {
      type: 'boolean',
      description: 'Also show it here, if it is a PNG, JPEG, GIF or WebP of at most 1 MB',
    }),
    ...toLinkTermFields(terms),
  });
}

type GetArtifactInput = z.output<ReturnType<typeof makeGetArtifactInput>>;

/** A link has all of the first fields and none of the others; base64 is the other way round. */
const getArtifactOutput = linkShape.partial().extend({
  artifact_id: z.string().optional().describe('With delivery base64: its name'),
  data: z.string().optional().describe('With delivery base64: its bytes'),
  encoding: z.literal('base64').optional(),
});

type GetArtifactAnswer = ToolAnswer<z.input<typeof getArtifactOutput>>;

function declareGetArtifactTool(terms: LinkTermBounds) {
  return declareTool({
    name: 'get_artifact',
    view: 'ui://workcrate/table',
    searchHint: 'download link, plot, chart, image, result of a run',
    group: 'artifacts',
    title: 'Get an artifact',
    description:
      'Gives a file that code left in /artifacts: a link for a person or a program, to a copy made now. Its bytes stay outside the conversation.',
    input: hideArguments(makeGetArtifactInput(terms), ['artifact_path']),
    output: getArtifactOutput,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    auditFields: { subject: ['name', 'artifact_path'], newToken: 'token' },
    async handle(room: ArtifactsRoom, input, context) {
      let isThere = false;
      const wanted = { name: readNameOrPath(input), delivery: input.delivery, signal: context.signal };
      const giving = room.artifacts.use(context.caller, wanted, async (artifact) => {
        isThere = true;
        const most = Math.min(maxModelPictureBytes, room.artifacts.sizeLimit);
        const shown = input.show ? await readArtifactPicture(artifact, most) : null;
        const isLink = input.delivery === 'link';
        const answer = await (isLink
          ? answerAsLink(room, artifact, input, context)
          : answerAsBase64(artifact));
        return addPicture(answer, shown);
      });
      return giving.catch(async (error: unknown) => {
        throw isThere
          ? error
          : await addAdvice(error, () => room.artifacts.findSimilar(context.caller, wanted.name));
      });
    },
  });
}

const artifactsFolder = '/artifacts/';

/** A run tells an artifact with its folder, `/artifacts/plot.png`; nothing else with a slash is a name (A5). */
function readNameOrPath({ name, artifact_path: path }: GetArtifactInput): string {
  const given = name ?? path;
  if (given === undefined || (name !== undefined && path !== undefined))
    throw new WorkcrateError(
      'invalid_input',
      'Name one artifact: give name, or artifact_path, but not both.',
    );
  const rest = given.startsWith(artifactsFolder) ? given.slice(artifactsFolder.length) : given;
  return isPlainArtifactName(rest) ? rest : given;
}

/** The words of the specification (A5, A6) are the first line; what to do is the second. */
async function addAdvice(error: unknown, findSimilar: () => Promise<string | null>): Promise<unknown> {
  if (!isWorkcrateError(error, 'not_found') && !isWorkcrateError(error, 'invalid_input')) return error;
  const similar = error.code === 'not_found' ? await findSimilar() : null;
  const guess = similar === null ? '' : `Did you mean ${toPlainJson(similar)}? `;
  const message = `${escapeControls(error.message)}\n${guess}Only files directly in /artifacts can be fetched; list_artifacts shows them. Copy other files there first, such as with execute_bash: cp FILE /artifacts/`;
  return new WorkcrateError(error.code, message, { cause: error, details: { ...error.details } });
}

async function answerAsBase64(artifact: Artifact): Promise<GetArtifactAnswer> {
  const { name, size } = artifact;
  const data = await readAsBase64(artifact);
  return {
    text: `${quoteName(name)}, ${size} bytes, as base64:\n${data}`,
    structured: { artifact_id: name, data, encoding: 'base64' },
  };
}

/** Copied, since a link promises bytes that stay the same and runs may write to the artifact again. */
async function answerAsLink(
  { artifacts, files, links, baseUrl }: ArtifactsRoom,
  artifact: Artifact,
  { ttl_seconds: ttlSeconds, single_use: singleUse }: GetArtifactInput,
  { caller, sharesMachine, signal }: ToolContext,
): Promise<GetArtifactAnswer> {
  await files.demandQuota(caller, artifact.size);
  const file = { name: artifact.name, origin: 'artifact', keepSeconds: ttlSeconds };
  const { id } = await files.add(caller, file, artifact.bytes(), signal);
  const localPath = sharesMachine ? await artifacts.findLocalPath(caller, artifact.name) : null;
  return toLinkAnswer(await links.share(caller, id, { ttlSeconds, singleUse }), baseUrl(), localPath);
}

function addPicture(answer: GetArtifactAnswer, shown: ContentBlock | string | null): GetArtifactAnswer {
  if (shown === null) return answer;
  if (typeof shown === 'string') return { ...answer, text: `${answer.text}\nNot shown: ${shown}.` };
  return { ...answer, content: [...(answer.content ?? []), shown] };
}
