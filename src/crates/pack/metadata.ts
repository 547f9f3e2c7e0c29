import { entity, iso, reference, references, type GraphEntity } from './entity.ts';
import { fileEntity } from './file-entities.ts';
import { idOfPath } from './ids.ts';
import { licenceEntity } from './licence.ts';
import { filesOf, type PackedCrate } from './packed.ts';
import { agentEntity, authorEntities } from './people.ts';
import { actionId, runEntities } from './run-entities.ts';

export const metadataName = 'ro-crate-metadata.json';
export const previewName = 'ro-crate-preview.html';

const specification = 'https://w3id.org/ro/crate/1.3';
/** Of the versions of the profile, the one that is made for RO-Crate 1.3; 0.5 and before extend 1.1. */
const profile = { id: 'https://w3id.org/ro/wfrun/process/0.6', version: '0.6' };

export interface MetadataDocument {
  readonly '@context': string;
  readonly '@graph': readonly GraphEntity[];
}

/** The RO-Crate 1.3 metadata of a crate, and of a Process Run Crate where there is a run. */
export function metadataOf(crate: PackedCrate): MetadataDocument {
  const { about, run, files } = crate;
  const agent = agentEntity(about.user);
  const { people, organisations } = authorEntities(about.authors);
  const authors = people.length === 0 ? [agent] : people;
  const isAgentNamed = run !== null || people.length === 0;
  const described = [
    ...people,
    ...organisations,
    ...(isAgentNamed ? [agent] : []),
    ...(run === null ? [] : [profileEntity(), ...runEntities(run, about, agent['@id'])]),
    ...files.map((file) => fileEntity(file)),
  ];
  const licence = apartFrom(described, licenceEntity(about.license));
  return {
    '@context': `${specification}/context`,
    '@graph': [
      entity(metadataName, 'CreativeWork', {
        about: reference('./'),
        conformsTo: reference(specification),
        description: 'What is known of this crate, as RO-Crate JSON-LD',
      }),
      rootEntity(crate, licence, authors),
      entity(previewName, 'CreativeWork', { name: 'A page about this crate', about: reference('./') }),
      licence,
      ...described,
    ],
  };
}

/** Somebody may name any address as a licence, that of another entity too; and no two may have one id. */
function apartFrom(others: readonly GraphEntity[], licence: GraphEntity): GraphEntity {
  const isTaken = others.some((other) => other['@id'] === licence['@id']);
  return isTaken ? { ...licence, '@id': '#license' } : licence;
}

function rootEntity(crate: PackedCrate, licence: GraphEntity, authors: readonly GraphEntity[]): GraphEntity {
  const { about, run } = crate;
  return entity('./', 'Dataset', {
    name: about.title,
    description: about.description,
    datePublished: iso(about.published),
    license: reference(licence['@id']),
    author: references(authors.map((author) => author['@id'])),
    keywords: about.keywords.length > 1 ? about.keywords : (about.keywords[0] ?? null),
    conformsTo: run === null ? null : reference(profile.id),
    mentions: run === null ? null : reference(actionId(run)),
    hasPart: references(filesOf(crate).map(({ path }) => idOfPath(path))),
  });
}

function profileEntity(): GraphEntity {
  return entity(profile.id, ['CreativeWork', 'Profile'], {
    name: 'Process Run Crate',
    version: profile.version,
  });
}
