/** Rules about the two entities that every crate has: the descriptor of the metadata file, and the root. */
import { parseFreeFormDate, parseRoCrateVersion } from '../crates/metadata/metadata.ts';
import {
  findTargets,
  fromVersion12,
  hasPlainValue,
  hasValue,
  hasAnyType,
  makeRule,
  nameEntity,
  onlyVersion11,
  quoteNames,
  quoteText,
  toValueText,
  toViolation,
  type CrateView,
  type CrateRule,
  type Violation,
} from './rule.ts';
import type { ViewedEntity } from './view.ts';

const profile = 'ro-crate';

/** A rule about the root; where there is none, `descriptor-about` says so. */
const makeRootRule = (
  head: Parameters<typeof makeRule>[0],
  findWrong: (crate: CrateView, root: ViewedEntity) => string | boolean,
): CrateRule =>
  makeRule(head, (crate) => {
    const wrong = crate.root !== null && findWrong(crate, crate.root);
    if (wrong === false) return [];
    return [toViolation(crate.root!, wrong)];
  });

const makeDescriptorRule = (
  head: Parameters<typeof makeRule>[0],
  findWrong: (crate: CrateView, descriptor: ViewedEntity) => string | boolean,
): CrateRule =>
  makeRule(head, (crate) => {
    const wrong = crate.descriptor !== null && findWrong(crate, crate.descriptor);
    if (wrong === false) return [];
    return [toViolation(crate.descriptor!, wrong)];
  });

/** Also the basic form, without separators. */
const basicIsoDate = /^\d{8}(?:T\d{4}(?:\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?$/;

export const isIsoDate = (text: string): boolean =>
  parseFreeFormDate(text)?.isIso === true || (basicIsoDate.test(text) && parseFreeFormDate(text) !== null);

function findWrongAbout(crate: CrateView, descriptor: ViewedEntity): string | false {
  const values = crate.valuesOf(descriptor, 'about');
  if (values.length === 0) return 'It has no about.';
  if (values.length > 1) return `It is about ${values.length} things.`;
  const [value] = values;
  if (value?.kind !== 'reference') return 'Its about is no reference in the form {"@id": …}.';
  return value.entity === null && `It is about ${quoteText(value.id)}, which is not described.`;
}

function findWrongStatedVersion(crate: CrateView, descriptor: ViewedEntity): string | false {
  const stated = crate.valuesOf(descriptor, 'conformsTo').map(toValueText);
  if (stated.includes(`https://w3id.org/ro/crate/${crate.version}`)) return false;
  if (stated.length === 0) return 'It states no version.';
  return `It states ${stated.slice(0, 5).map(quoteText).join(', ')}, and was checked as RO-Crate ${crate.version}.`;
}

function findWrongDate(crate: CrateView, root: ViewedEntity): string | false {
  const values = crate.valuesOf(root, 'datePublished');
  if (values.length === 0) return 'It has none.';
  if (values.length > 1 && crate.version !== '1.1') return `It has ${values.length} of them.`;
  const wrong = values.find((value) => value.kind !== 'text' || !isIsoDate(value.text));
  return wrong !== undefined && `${quoteText(toValueText(wrong))} is not in ISO 8601 format.`;
}

function findWrongRootId({ isAttached }: CrateView, { id }: ViewedEntity): string | false {
  if (!isAttached || id === './' || id === null || /^[a-z][a-z0-9+.-]*:/i.test(id)) return false;
  return `It is ${quoteText(id)}.`;
}

function findWrongLicense(crate: CrateView, root: ViewedEntity): string | false {
  if (!hasValue(crate, root, 'license')) return false;
  const [license] = findTargets(crate, root, 'license');
  if (license === undefined) return 'It is not an entity of the crate.';
  const missing = ['name', 'description'].filter((property) => !hasPlainValue(crate, license, property));
  return missing.length > 0 && `${quoteText(nameEntity(license))} has no ${missing.join(' and no ')}.`;
}

function* findWrongIdentifiers(crate: CrateView): Iterable<Violation> {
  if (crate.root === null) return;
  for (const entity of findTargets(crate, crate.root, 'identifier'))
    if (hasAnyType(entity, ['PropertyValue']) && !hasValue(crate, entity, 'value'))
      yield { entity: nameEntity(entity) };
}

/** The profiles that the root says it conforms to. */
function* findUndescribedProfiles(crate: CrateView): Iterable<Violation> {
  if (crate.root === null) return;
  for (const value of crate.valuesOf(crate.root, 'conformsTo')) {
    const id = toValueText(value);
    if (value.kind !== 'reference')
      yield { entity: crate.root.id, detail: `${quoteText(id)} is no reference in the form {"@id": …}.` };
    else if (value.entity === null) yield { entity: id, detail: 'There is no entity with this @id.' };
    else if (!hasAnyType(value.entity, ['Profile']))
      yield { entity: id, detail: `Its @type is ${quoteNames(value.entity.types) || 'missing'}.` };
  }
}

const makeRootTextRule = (property: 'name' | 'description', remedy: string): CrateRule =>
  makeRootRule(
    {
      id: `root-${property}`,
      level: 'MUST',
      profile,
      text: `The root MUST have a ${property}, as text.`,
      remedy,
    },
    (crate, root) => !hasPlainValue(crate, root, property),
  );

export const rootRules: readonly CrateRule[] = [
  makeRule(
    {
      id: 'descriptor',
      level: 'MUST',
      profile,
      text: 'The @graph MUST have an entity with the @id ro-crate-metadata.json, which describes the metadata file.',
      remedy:
        'Add {"@id": "ro-crate-metadata.json", "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": "https://w3id.org/ro/crate/VERSION"}}.',
    },
    ({ graph, descriptor }) => {
      if (graph === null) return [];
      if (descriptor === null) return [{ entity: null }];
      return descriptor.id?.endsWith('.jsonld')
        ? [{ entity: descriptor.id, detail: 'That name is of RO-Crate 1.0.' }]
        : [];
    },
  ),
  makeDescriptorRule(
    {
      id: 'descriptor-type',
      level: 'MUST',
      profile,
      text: 'The descriptor MUST be a CreativeWork.',
      remedy: 'Set its "@type" to "CreativeWork".',
    },
    (_crate, { types }) => !types.includes('CreativeWork'),
  ),
  makeDescriptorRule(
    {
      id: 'descriptor-about',
      level: 'MUST',
      profile,
      text: 'The descriptor MUST have an about that refers to the root, which is described.',
      remedy: 'Set "about": {"@id": "./"}, and describe the root with that @id.',
    },
    findWrongAbout,
  ),
  makeDescriptorRule(
    {
      id: 'descriptor-version',
      level: 'SHOULD',
      profile,
      text: 'The conformsTo of the descriptor SHOULD be the address of the version of RO-Crate.',
      remedy: 'Set "conformsTo": {"@id": "https://w3id.org/ro/crate/VERSION"}.',
    },
    findWrongStatedVersion,
  ),
  makeDescriptorRule(
    {
      id: 'descriptor-one-version',
      level: 'SHOULD',
      profile,
      versions: fromVersion12,
      text: 'The conformsTo of the descriptor SHOULD have one value; profiles are stated on the root.',
      remedy: 'Move the profiles to conformsTo of the root.',
    },
    (crate, descriptor) => crate.valuesOf(descriptor, 'conformsTo').length > 1,
  ),
  makeRootRule(
    {
      id: 'root-type',
      level: 'MUST',
      profile,
      text: 'The root MUST be a Dataset.',
      remedy: 'Set its "@type" to "Dataset", or to a list with it.',
    },
    (_crate, root) => !hasAnyType(root, ['Dataset']),
  ),
  makeRootRule(
    {
      id: 'root-id-slash',
      level: 'MUST',
      profile,
      versions: onlyVersion11,
      text: 'The @id of the root MUST end with a slash.',
      remedy: 'Set it to "./".',
    },
    (_crate, { id }) => id !== null && !id.endsWith('/'),
  ),
  makeRootRule(
    {
      id: 'root-id',
      level: 'SHOULD',
      profile,
      versions: onlyVersion11,
      text: 'The @id of the root SHOULD be "./".',
      remedy: 'Set it to "./", and state its address as identifier or url.',
    },
    (_crate, { id }) => id !== './' && `It is ${quoteText(id ?? '')}.`,
  ),
  makeRootRule(
    {
      id: 'root-id',
      level: 'MUST',
      profile,
      versions: fromVersion12,
      text: 'The @id of the root of an attached crate MUST be "./" or an absolute URI.',
      remedy: 'Set it to "./".',
    },
    findWrongRootId,
  ),
  makeRootRule(
    {
      id: 'root-id-detached',
      level: 'SHOULD',
      profile,
      versions: fromVersion12,
      text: 'The @id of the root of a detached crate SHOULD be an absolute URL if it is online.',
      remedy: 'Set it to the URL of the crate, such as its DOI.',
    },
    ({ isAttached }, { id }) => !isAttached && id !== null && !/^[a-z][a-z0-9+.-]*:/i.test(id),
  ),
  makeRootTextRule('name', 'Add a name that tells this crate from others.'),
  makeRootTextRule('description', 'Add a few sentences on what it is and why it matters.'),
  makeRootRule(
    {
      id: 'root-date',
      level: 'MUST',
      profile,
      text: 'The root MUST have a datePublished, which is one text in ISO 8601 format.',
      remedy:
        'Set "datePublished" to a day such as "2024-05-17", or to a time such as "2024-05-17T10:00:00Z".',
    },
    findWrongDate,
  ),
  makeRootRule(
    {
      id: 'root-date-day',
      level: 'SHOULD',
      profile,
      text: 'The datePublished of the root SHOULD be exact to the day.',
      remedy: 'Add month and day.',
    },
    (crate, root) =>
      crate.valuesOf(root, 'datePublished').some((value) => /^\d{4}(?:-\d\d)?$/.test(toValueText(value))),
  ),
  makeRootRule(
    {
      id: 'root-license',
      level: 'MUST',
      profile,
      text: 'The root MUST have a license.',
      remedy:
        'Refer to a licence, such as {"@id": "https://spdx.org/licenses/CC-BY-4.0"}, or say in words how it may be used.',
    },
    (crate, root) => !hasValue(crate, root, 'license'),
  ),
  makeRootRule(
    {
      id: 'root-license-entity',
      level: 'SHOULD',
      profile,
      text: 'The license of the root SHOULD be an entity of the crate with a name and a description.',
      remedy:
        'Add an entity for the licence, with its URL as @id, the type CreativeWork, a name and a description.',
    },
    findWrongLicense,
  ),
  makeRootRule(
    {
      id: 'root-author',
      level: 'SHOULD',
      profile,
      text: 'The root SHOULD have an author, who is described as a Person or an Organization.',
      remedy: 'Add author with {"@id": …}, and an entity for each, people with their ORCID as @id.',
    },
    (crate, root) =>
      !['author', 'creator'].some((property) =>
        findTargets(crate, root, property).some((entity) => hasAnyType(entity, ['Person', 'Organization'])),
      ),
  ),
  makeRootRule(
    {
      id: 'root-publisher',
      level: 'SHOULD',
      profile,
      text: 'The root SHOULD have a publisher, which is described as an Organization, or as a Person.',
      remedy: 'Add publisher with {"@id": …}, and an entity for it.',
    },
    (crate, root) =>
      !findTargets(crate, root, 'publisher').some((entity) => hasAnyType(entity, ['Organization', 'Person'])),
  ),
  makeRule(
    {
      id: 'root-identifier-value',
      level: 'MUST',
      profile,
      versions: fromVersion12,
      text: 'An identifier of the root that is a PropertyValue MUST have a value.',
      remedy: 'Add the identifier as "value".',
    },
    findWrongIdentifiers,
  ),
  makeRule(
    {
      id: 'profile-described',
      level: 'MUST',
      profile,
      versions: fromVersion12,
      text: 'Each profile that the root conforms to MUST be described by an entity of the type Profile.',
      remedy:
        'Add an entity with the address of the profile as @id, and "@type": ["CreativeWork", "Profile"].',
    },
    findUndescribedProfiles,
  ),
];

/** The versions of RO-Crate that the descriptor states. */
export const listStatedVersions = (crate: Pick<CrateView, 'descriptor' | 'valuesOf'>): string[] =>
  crate.descriptor === null
    ? []
    : crate
        .valuesOf(crate.descriptor, 'conformsTo')
        .flatMap((value) => parseRoCrateVersion(toValueText(value)) ?? []);
