import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  openCrateContainer,
  openCrateSource,
  ownedByEverybody,
  toCrateLocation,
} from '../crates/sources/sources.ts';
import type { CrateVersion } from './context.ts';
import { validateCrate, type CrateValidation, type ValidationProfile } from './validate.ts';

export type TestEntity = Record<string, unknown> & { '@id': string; '@type': string | string[] };
export type TestFiles = Record<string, string | Uint8Array>;

/** Judges a crate that is a folder with these files; `object` is the one that makes it a crate. */
export async function judge(
  files: TestFiles,
  profile: ValidationProfile | null = null,
  object = 'ro-crate-metadata.json',
): Promise<CrateValidation> {
  await using cleaning = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'workcrate-validate-'));
  cleaning.defer(() => rm(directory, { recursive: true, force: true }));
  for (const [name, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    if (!name.endsWith('/')) await writeFile(join(directory, name), bytes);
    else await mkdir(join(directory, name), { recursive: true });
  }
  const source = await openCrateSource({ kind: 'folder', directory });
  cleaning.defer(() => source.close());
  const place = toCrateLocation(source, (await source.stat(object))!, ownedByEverybody)!;
  const container = cleaning.use(await openCrateContainer(source, place));
  const { signal } = new AbortController();
  return await validateCrate({ container, place, maxMetadata: 64 * 1024 * 1024, profile, signal });
}

export const ref = (id: string): { '@id': string } => ({ '@id': id });

const provenance = 'https://w3id.org/ro/wfrun/provenance/0.5';
const profiles = [
  'https://w3id.org/ro/wfrun/process/0.5',
  'https://w3id.org/ro/wfrun/workflow/0.5',
  provenance,
  'https://w3id.org/workflowhub/workflow-ro-crate/1.0',
];

const software = { name: 'tool', url: 'https://example.org/tool', version: '1.0' };

/** A crate that breaks no rule at all, not even a SHOULD, with something for every rule to look at. */
export function makePerfectGraph(version: CrateVersion): TestEntity[] {
  return [
    {
      '@id': 'ro-crate-metadata.json',
      '@type': 'CreativeWork',
      about: ref('./'),
      conformsTo: ref(`https://w3id.org/ro/crate/${version}`),
    },
    {
      '@id': './',
      '@type': 'Dataset',
      name: 'Melt rates',
      description: 'How fast the ice melts.',
      datePublished: '2024-05-17',
      license: ref('https://spdx.org/licenses/CC-BY-4.0'),
      author: ref('https://orcid.org/0000-0002-1825-0097'),
      publisher: ref('https://ror.org/05gq02987'),
      identifier: ref('#doi'),
      citation: ref('https://doi.org/10.1234/paper'),
      conformsTo: profiles.map(ref),
      hasPart: ['main.cwl', 'data/', 'in.csv', 'out.csv', 'https://example.org/x.csv', 'logo.png'].map(ref),
      mainEntity: ref('main.cwl'),
      thumbnail: ref('logo.png'),
      mentions: ['#run', '#tool-run', '#step-run', '#engine-run', '#all', '#image'].map(ref),
    },
    {
      '@id': 'https://spdx.org/licenses/CC-BY-4.0',
      '@type': 'CreativeWork',
      name: 'CC BY 4.0',
      description: 'Share it, and say whose it is.',
    },
    {
      '@id': 'https://orcid.org/0000-0002-1825-0097',
      '@type': 'Person',
      name: 'Josiah Carberry',
      affiliation: ref('https://ror.org/05gq02987'),
    },
    { '@id': 'https://ror.org/05gq02987', '@type': 'Organization', name: 'Brown University' },
    { '@id': '#doi', '@type': 'PropertyValue', name: 'DOI', value: '10.1234/crate' },
    { '@id': 'https://doi.org/10.1234/paper', '@type': 'ScholarlyArticle', name: 'On ice' },
    ...profiles.map((id) => ({
      '@id': id,
      '@type': version === '1.1' ? 'CreativeWork' : ['CreativeWork', 'Profile'],
      name: 'A profile',
    })),
    { '@id': 'data/', '@type': 'Dataset', name: 'Further data', hasPart: ref('data/more.csv') },
    ...['data/more.csv', 'in.csv', 'out.csv'].map((id) => ({
      '@id': id,
      '@type': 'File',
      name: id,
      encodingFormat: 'text/csv',
      contentSize: '2',
      exampleOfWork: ref(id === 'out.csv' ? '#output' : '#input'),
    })),
    {
      '@id': 'logo.png',
      '@type': ['File', 'ImageObject'],
      name: 'Logo',
      encodingFormat: 'image/png',
      contentSize: 2,
    },
    {
      '@id': 'https://example.org/x.csv',
      '@type': 'File',
      name: 'On the web',
      encodingFormat: 'text/csv',
      contentSize: '17',
      sdDatePublished: '2024-05-17',
    },
    {
      '@id': 'main.cwl',
      '@type': ['File', 'SoftwareSourceCode', 'ComputationalWorkflow', 'HowTo'],
      encodingFormat: 'text/plain',
      contentSize: '2',
      ...software,
      programmingLanguage: ref('#cwl'),
      input: ref('#input'),
      output: ref('#output'),
      step: ref('#step'),
      hasPart: ref('#tool'),
      connection: ref('#connection'),
    },
    { '@id': '#cwl', '@type': 'ComputerLanguage', ...software },
    { '@id': '#tool', '@type': 'SoftwareApplication', ...software, input: ref('#input') },
    { '@id': '#engine', '@type': 'SoftwareApplication', ...software },
    {
      '@id': '#input',
      '@type': 'FormalParameter',
      name: 'in',
      additionalType: 'File',
      workExample: ref('in.csv'),
    },
    { '@id': '#output', '@type': 'FormalParameter', name: 'out', additionalType: 'File' },
    {
      '@id': '#connection',
      '@type': 'ParameterConnection',
      name: 'from in to out',
      sourceParameter: ref('#input'),
      targetParameter: ref('#output'),
    },
    {
      '@id': '#step',
      '@type': 'HowToStep',
      name: 'the step',
      position: '0',
      workExample: ref('#tool'),
      connection: ref('#connection'),
    },
    makeAction('#run', 'main.cwl'),
    { ...makeAction('#tool-run', '#tool'), resourceUsage: ref('#memory'), object: ref('#all') },
    {
      '@id': '#memory',
      '@type': 'PropertyValue',
      name: 'memory',
      propertyID: 'https://example.org/memory',
      value: '1',
    },
    {
      '@id': '#step-run',
      '@type': 'ControlAction',
      name: 'step',
      instrument: ref('#step'),
      object: ref('#tool-run'),
    },
    {
      '@id': '#engine-run',
      '@type': 'OrganizeAction',
      name: 'engine',
      instrument: ref('#engine'),
      object: ref('#step-run'),
      result: ref('#run'),
    },
    {
      '@id': '#all',
      '@type': 'Collection',
      name: 'All data',
      hasPart: ref('in.csv'),
      mainEntity: ref('in.csv'),
    },
    {
      '@id': '#image',
      '@type': 'ContainerImage',
      name: 'debian',
      registry: 'docker.io',
      additionalType: ref('https://w3id.org/ro/terms/workflow-run#DockerImage'),
    },
  ];
}

const makeAction = (id: string, tool: string): TestEntity => ({
  '@id': id,
  '@type': 'CreateAction',
  name: 'A run',
  description: 'cwltool main.cwl',
  instrument: ref(tool),
  agent: ref('https://orcid.org/0000-0002-1825-0097'),
  object: ref('in.csv'),
  result: ref('out.csv'),
  startTime: '2024-05-17T09:00:00Z',
  endTime: '2024-05-17T10:00:00+00:00',
  actionStatus: 'http://schema.org/CompletedActionStatus',
});

export const perfectFiles: TestFiles = {
  'main.cwl': '{}',
  'data/more.csv': '1\n',
  'in.csv': '1\n',
  'out.csv': '1\n',
  'logo.png': 'xx',
  'ro-crate-preview.html': '<!DOCTYPE html>\n<html></html>',
};

export const writeDocument = (version: CrateVersion, graph: readonly unknown[]): string =>
  JSON.stringify({
    '@context': [
      `https://w3id.org/ro/crate/${version}/context`,
      'https://w3id.org/ro/terms/workflow-run/context',
    ],
    '@graph': graph,
  });
