/**
 * Artifacts as MCP resources: `workcrate://artifacts/{name}`, with every name that a file can have in percent encoding.
 * It shows small texts and pictures, and no other bytes.
 */
import { guessMediaType } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import { beginsWith, showBytes, type ListedResource, type DeclaredResources } from '../offer/resource.ts';
import { collectBytes } from '../../platform/streams.ts';
import { quoteName } from '../../platform/text/text.ts';
import type { Artifacts } from './artifacts.ts';

export const artifactResources: DeclaredResources<{ readonly artifacts: Artifacts }> = {
  name: 'artifact',
  group: 'artifacts',
  title: 'Artifact',
  description: 'A file that code left in /artifacts, by its name. list_artifacts lists them.',
  template: 'workcrate://artifacts/{name}',

  async list({ artifacts }, page, { caller }) {
    const { names, next } = await artifacts.list(caller, page);
    return { resources: names.map(toListedArtifact), next };
  },

  read: async ({ artifacts }, { name }, { caller, signal }) =>
    artifacts.use(caller, { name: name!, delivery: 'resource', signal }, async (artifact) =>
      showBytes({
        name: artifact.name,
        size: artifact.size,
        mediaType: guessMediaType(artifact.name),
        limit: artifacts.sizeLimit,
        otherwise: `For a link, call get_artifact with name ${quoteName(artifact.name)}.`,
        read: () => collectBytes(artifact.bytes()),
      }),
    ),

  complete: ({ artifacts }, _variable, begun, { caller }) => completeArtifactName(artifacts, caller, begun),
};

const toListedArtifact = (name: string): ListedResource => ({
  variables: { name },
  name,
  description: `${quoteName(name)}, artifact`,
  mimeType: guessMediaType(name),
});

/** Names of the caller's artifacts that begin like this. */
export async function completeArtifactName(
  artifacts: Artifacts,
  caller: Caller,
  begun: string,
): Promise<string[]> {
  const { names } = await artifacts.list(caller);
  return names.filter((name) => beginsWith(name, begun));
}
