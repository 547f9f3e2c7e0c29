/** Rules about what surrounds the data: software, scripts, workflows, actions, publications and people. */
import {
  everyVersion,
  findTargets,
  findWrongReference,
  fromVersion12,
  hasPlainValue,
  hasValue,
  hasAnyType,
  makeRule,
  makeTypeRule,
  nameEntity,
  onlyVersion11,
  quoteText,
  toValueText,
  type CrateView,
  type CrateRule,
  type RuleLevel,
} from './rule.ts';
import type { ViewedEntity } from './view.ts';
import { isIsoDate } from './root-rules.ts';

const contextualProfile = 'ro-crate';

const listMissing = (
  crate: CrateView,
  entity: ViewedEntity,
  properties: readonly string[],
): string | false => {
  const missing = properties.filter((property) => !hasValue(crate, entity, property));
  return missing.length > 0 && `It has no ${missing.join(' and no ')}.`;
};

/** The example of 1.1 has no url itself, and readers of 1.1 do not ask for it (docs/decisions/053). */
const makeSoftwareRule = (level: RuleLevel, versions: typeof everyVersion): CrateRule =>
  makeTypeRule(
    {
      id: 'software',
      level,
      profile: contextualProfile,
      versions,
      text: `A SoftwareApplication or ComputerLanguage ${level} have a name, a url and a version.`,
      remedy: 'Add what is missing; the version is one that was used or tested.',
    },
    ['SoftwareApplication', 'ComputerLanguage'],
    (crate, entity) => listMissing(crate, entity, ['name', 'url', 'version']),
  );

/** Code that is only mentioned, or a part of another file, is not a file of the crate. */
const isLocalFile = (crate: CrateView, { id }: ViewedEntity): boolean =>
  id !== null && !id.includes('#') && crate.toPath(id) !== null;

const contextualActionTypes = ['CreateAction', 'UpdateAction', 'ActivateAction'];

export const contextualRules: readonly CrateRule[] = [
  makeSoftwareRule('SHOULD', onlyVersion11),
  makeSoftwareRule('MUST', fromVersion12),
  makeTypeRule(
    {
      id: 'script-types',
      level: 'MUST',
      profile: contextualProfile,
      text: 'A script or workflow of the crate MUST be a File and SoftwareSourceCode, with a name.',
      remedy:
        'Set "@type" to ["File", "SoftwareSourceCode"], with "ComputationalWorkflow" for a workflow, and add a name.',
    },
    ['SoftwareSourceCode', 'ComputationalWorkflow'],
    (crate, entity) => {
      if (!isLocalFile(crate, entity)) return false;
      const lacks = ['File', 'SoftwareSourceCode'].filter((type) => !entity.types.includes(type));
      if (lacks.length > 0) return `It is no ${lacks.join(' and no ')}.`;
      return !hasPlainValue(crate, entity, 'name') && 'It has no name.';
    },
  ),
  makeTypeRule(
    {
      id: 'action-time',
      level: 'MUST',
      profile: contextualProfile,
      text: 'The times of an action MUST be in ISO 8601 format.',
      remedy: 'Write them as "2024-05-17T10:00:00+00:00".',
    },
    contextualActionTypes,
    (crate, entity) => {
      const times = ['startTime', 'endTime'].flatMap((property) =>
        crate.valuesOf(entity, property).map(toValueText),
      );
      const wrong = times.find((time) => !isIsoDate(time));
      return wrong !== undefined && `${quoteText(wrong)} is in another one.`;
    },
  ),
  makeRule(
    {
      id: 'citation-url',
      level: 'MUST',
      profile: contextualProfile,
      text: 'A publication that is cited MUST have a URL as its @id, such as its DOI.',
      remedy: 'Use https://doi.org/… as the @id of the publication, and refer to it by citation.',
    },
    function* (crate) {
      const cited = crate.entities.flatMap((entity) => findTargets(crate, entity, 'citation'));
      for (const entity of new Set(cited))
        if (!/^[a-z][a-z0-9+.-]+:/i.test(entity.id ?? '') && !hasAnyType(entity, ['File', 'Dataset']))
          yield { entity: nameEntity(entity) };
    },
  ),
  makeRule(
    {
      id: 'thumbnail-file',
      level: 'MUST',
      profile: contextualProfile,
      text: 'A thumbnail MUST be a File of the crate.',
      remedy: 'Describe the picture as a File, and add it to the crate.',
    },
    function* (crate) {
      for (const entity of crate.entities) {
        const wrong = findWrongReference(crate, entity, {
          property: 'thumbnail',
          to: ['File'],
          isNeeded: false,
        });
        if (wrong !== false) yield { entity: nameEntity(entity), detail: wrong };
      }
    },
  ),
  makeRule(
    {
      id: 'author-entity',
      level: 'SHOULD',
      profile: contextualProfile,
      text: 'An author SHOULD be described by an entity: a Person or an Organization with a name.',
      remedy: 'Add an entity with that @id (the ORCID of a person), its type and its name.',
    },
    function* (crate) {
      const authors = crate.entities.flatMap((entity) => findTargets(crate, entity, 'author'));
      for (const author of new Set(authors))
        if (!hasAnyType(author, ['Person', 'Organization']) || !hasPlainValue(crate, author, 'name'))
          yield { entity: nameEntity(author) };
    },
  ),
  makeTypeRule(
    {
      id: 'person-affiliation',
      level: 'SHOULD',
      profile: contextualProfile,
      text: 'The affiliation of a Person SHOULD be an Organization that is described.',
      remedy: 'Add an entity for the organization (its ROR as @id), and refer to it by affiliation.',
    },
    ['Person'],
    (crate, entity) =>
      findWrongReference(crate, entity, { property: 'affiliation', to: ['Organization'], isNeeded: false }),
  ),
];
