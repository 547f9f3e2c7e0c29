/** Rules about every entity, whatever it is: its id, its types, the form of its values, and what it refers to. */
import { isJsonObject, type JsonObject } from '../crates/metadata/metadata.ts';
import {
  fromVersion12,
  makeRule,
  nameEntity,
  onlyVersion11,
  quoteNames,
  quoteText,
  toViolation,
  type CrateView,
  type CrateRule,
  type Violation,
} from './rule.ts';
import type { ViewedEntity } from './view.ts';

const entityProfile = 'ro-crate';

/** What is not a plain value or a reference; null if all is as it should be. */
function findNested(json: JsonObject): string | null {
  for (const key of Object.keys(json)) {
    if (key.startsWith('@') && key !== '@reverse') continue;
    const value = json[key];
    const items: unknown[] = Array.isArray(value) ? value : [value];
    if (items.some((item) => !isFlat(item))) return key;
  }
  return null;
}

function isFlat(item: unknown): boolean {
  if (Array.isArray(item)) return false;
  if (!isJsonObject(item)) return true;
  const keys = Object.keys(item);
  if (keys.includes('@value')) return isValueObject(item, keys);
  if (keys.length === 1 && (keys[0] === '@list' || keys[0] === '@set')) {
    const list = item[keys[0]];
    return Array.isArray(list) && list.every((one) => !Array.isArray(one) && isFlatItem(one));
  }
  return isFlatItem(item);
}

/** A reference or a plain value: lists do not contain lists. */
function isFlatItem(item: unknown): boolean {
  if (!isJsonObject(item)) return true;
  const keys = Object.keys(item);
  return keys.includes('@value') ? isValueObject(item, keys) : keys.length === 1 && keys[0] === '@id';
}

const isValueObject = (item: JsonObject, keys: readonly string[]): boolean =>
  !isJsonObject(item['@value']) &&
  keys.every((key) => ['@value', '@type', '@language', '@direction', '@index'].includes(key)) &&
  !(keys.includes('@type') && keys.includes('@language'));

function* findDuplicates({ entities, find }: CrateView): Iterable<Violation> {
  for (const entity of entities)
    if (entity.id !== null && find(entity.id) !== entity) yield { entity: nameEntity(entity) };
}

/** Properties whose text may be the @id of some entity by chance, or by right. */
const plainProperties = new Set(
  'name description alternateName encodingFormat contentSize datePublished keywords creditText contentUrl copyrightNotice version softwareVersion value propertyID actionStatus error startTime endTime url identifier additionalType localPath text'.split(
    ' ',
  ),
);

function* findTextReferences(crate: CrateView): Iterable<Violation> {
  for (const entity of crate.entities)
    for (const [key, value] of crate.allValuesOf(entity)) {
      if (value.kind !== 'text' || plainProperties.has(key) || !/^#|[/.:]/.test(value.text)) continue;
      if (crate.find(value.text) === null || value.text.length > 1000) continue;
      yield {
        entity: nameEntity(entity),
        detail: `Its ${quoteNames([key])} is the text ${quoteText(value.text)}, which is the @id of an entity.`,
      };
      break;
    }
}

/** RFC 3986 and 3987: no spaces, control characters, backslashes, braces or quotes, and only whole percent codes. */
// oxlint-disable-next-line no-control-regex
const invalidInUri = /[\u0000-\u0020<>"{}|\\^`]|%(?![0-9A-Fa-f]{2})/;

/** Of data entities that is a MUST of its own (`data-id`); elsewhere the specification only recommends it. */
export const findInvalidUriPart = (id: string): string | null => {
  const found = invalidInUri.exec(id)?.[0];
  return found === undefined
    ? null
    : found === ' '
      ? 'a space'
      : found === '\\'
        ? 'a backslash'
        : JSON.stringify(found);
};

const describeEach = (
  entities: readonly ViewedEntity[],
  findWrong: (entity: ViewedEntity) => string | boolean,
): Violation[] =>
  entities.flatMap((entity) => {
    const wrong = findWrong(entity);
    if (wrong === false) return [];
    return [toViolation(entity, wrong)];
  });

export const entityRules: readonly CrateRule[] = [
  makeRule(
    {
      id: 'entity-id',
      level: 'MUST',
      profile: entityProfile,
      text: 'Every entity MUST have an @id, which is text.',
      remedy: 'Give it one: a path for a file, a URL, or a name of your own that begins with #.',
    },
    ({ entities }) => describeEach(entities, ({ id }) => id === null),
  ),
  makeRule(
    {
      id: 'entity-type',
      level: 'MUST',
      profile: entityProfile,
      text: 'Every entity MUST have a @type.',
      remedy: 'Add the type of schema.org that fits; Thing or CreativeWork if no other does.',
    },
    ({ entities }) => describeEach(entities, ({ types }) => types.length === 0),
  ),
  makeRule(
    {
      id: 'entity-unique',
      level: 'MUST',
      profile: entityProfile,
      text: 'No two entities of the @graph MUST have the same @id.',
      remedy: 'Merge them into one entity, or give one of them another @id.',
    },
    findDuplicates,
  ),
  makeRule(
    {
      id: 'entity-flat',
      level: 'MUST',
      profile: entityProfile,
      text: 'Entities MUST be flat: a value is plain, or a reference {"@id": …} with nothing else in it.',
      remedy: 'Move what is nested into an entity of the @graph, and refer to it by its @id.',
    },
    ({ entities }) =>
      describeEach(entities, ({ json }) => {
        const key = findNested(json);
        return key !== null && `Its ${quoteNames([key])} has something nested in it.`;
      }),
  ),
  makeRule(
    {
      id: 'reference-form',
      level: 'MUST',
      profile: entityProfile,
      versions: fromVersion12,
      text: 'A property that refers to another entity MUST do so in the form {"@id": …}.',
      remedy: 'Write {"@id": "…"} in place of the text.',
    },
    findTextReferences,
  ),
  makeRule(
    {
      id: 'entity-id-valid',
      level: 'SHOULD',
      profile: entityProfile,
      text: 'An @id SHOULD be a valid URI reference, with special characters escaped.',
      remedy: 'Escape it: %20 for a space, %25 for a percent sign, / between folders.',
    },
    ({ entities }) =>
      describeEach(entities, ({ id }) => {
        const part = id === null ? null : findInvalidUriPart(id);
        return part !== null && `It contains ${part}.`;
      }),
  ),
  makeRule(
    {
      id: 'entity-id-inside',
      level: 'SHOULD',
      profile: entityProfile,
      text: 'An @id SHOULD NOT lead out of the crate: by "../", an absolute path, a drive or file://.',
      remedy: 'Use the path below the root of the crate, or a URL.',
    },
    ({ entities }) =>
      describeEach(
        entities,
        ({ id }) => id !== null && /^(?:\/|file:|[a-z]:)|(?:^|\/)\.\.(?:\/|$)/i.test(id),
      ),
  ),
  makeRule(
    {
      id: 'reference-described',
      level: 'SHOULD',
      profile: entityProfile,
      text: 'What an entity refers to in the crate SHOULD be described in it.',
      remedy: 'Add an entity with that @id to the @graph, or correct the reference.',
    },
    function* (crate) {
      for (const entity of crate.entities)
        for (const [key, value] of crate.allValuesOf(entity)) {
          if (value.kind !== 'reference' || value.entity !== null || isAbsolute(value.id)) continue;
          yield {
            entity: nameEntity(entity),
            detail: `Its ${quoteNames([key])} is ${quoteText(value.id)}, which is not described.`,
          };
          break;
        }
    },
  ),
  makeRule(
    {
      id: 'entity-name',
      level: 'SHOULD',
      profile: entityProfile,
      versions: fromVersion12,
      text: 'Every entity SHOULD have a name.',
      remedy: 'Add a name that people understand.',
    },
    (crate) =>
      describeEach(
        crate.entities,
        (entity) =>
          entity !== crate.descriptor &&
          entity !== crate.root &&
          !entity.id?.startsWith('_:') &&
          crate.valuesOf(entity, 'name').length === 0,
      ),
  ),
  makeRule(
    {
      id: 'entity-referenced',
      level: 'SHOULD',
      profile: entityProfile,
      versions: onlyVersion11,
      text: 'Every entity SHOULD be referred to by another one.',
      remedy: 'Refer to it where it belongs, such as in mentions, hasPart or author.',
    },
    findUnreferenced,
  ),
  makeRule(
    {
      id: 'entity-reachable',
      level: 'SHOULD',
      profile: entityProfile,
      versions: fromVersion12,
      text: 'Every entity SHOULD be referred to, so that it can be reached from the root.',
      remedy: 'Refer to it from an entity that can be reached, such as by mentions, hasPart or author.',
    },
    findUnreachable,
  ),
];

const isAbsolute = (id: string): boolean => /^(?:_:|[a-z][a-z0-9+.-]+:)/i.test(id);

const listReferred = (crate: CrateView, entity: ViewedEntity): ViewedEntity[] =>
  Array.from(crate.allValuesOf(entity)).flatMap(([, value]) =>
    value.kind === 'reference' && value.entity !== null && value.entity !== entity ? [value.entity] : [],
  );

function* findUnreferenced(crate: CrateView): Iterable<Violation> {
  const known = new Set<ViewedEntity | null>([crate.root, crate.descriptor]);
  for (const entity of crate.entities) for (const one of listReferred(crate, entity)) known.add(one);
  yield* listUnlinkedEntities(crate, known);
}

function* findUnreachable(crate: CrateView): Iterable<Violation> {
  const { root, descriptor } = crate;
  if (root === null || descriptor === null) return;
  const reached = new Set<ViewedEntity>([descriptor, root]);
  for (const entity of reached) for (const one of listReferred(crate, entity)) reached.add(one);
  yield* listUnlinkedEntities(crate, reached);
}

/** All but the page for people, which nothing needs to refer to. */
function* listUnlinkedEntities(
  { entities }: CrateView,
  known: ReadonlySet<ViewedEntity | null>,
): Iterable<Violation> {
  for (const entity of entities)
    if (!known.has(entity) && entity.id !== 'ro-crate-preview.html') yield { entity: nameEntity(entity) };
}
