/** Rules about the metadata document as JSON-LD: its name, its encoding, its context and the words that it uses. */
import { isJsonObject } from '../crates/metadata/metadata.ts';
import {
  fromVersion12,
  makeRule,
  nameEntity,
  onlyVersion11,
  quoteText,
  type CrateView,
  type CrateRule,
  type Violation,
} from './rule.ts';
import type { WordUse } from './view.ts';

const documentProfile = 'ro-crate';
const contextUrl = (version: string): string => `https://w3id.org/ro/crate/${version}/context`;

function* findWrongContext(crate: CrateView): Iterable<Violation> {
  const { isMissing, addresses } = crate.context;
  if (isMissing || addresses.includes(contextUrl(crate.version))) return;
  const given =
    addresses.length === 0
      ? 'It names no address.'
      : `It names ${addresses.slice(0, 5).map(quoteText).join(', ')}.`;
  yield { entity: null, detail: `${given} The address of this version is ${contextUrl(crate.version)}.` };
}

/** A context that is not known here may define any word, so nothing can be said then. */
const canJudgeWords = ({ context }: CrateView): boolean =>
  !context.isMissing && context.unknown.length === 0 && !context.hasVocabulary;

function* findUndefinedWords(crate: CrateView, words: readonly WordUse[]): Iterable<Violation> {
  if (!canJudgeWords(crate)) return;
  for (const { word, first, count } of words)
    if (!crate.context.isDefined(word))
      yield {
        entity: nameEntity(first),
        detail: `${quoteText(word)} is in no context of the crate${count > 1 ? `; it is used ${count} times` : ''}.`,
      };
}

export const documentRules: readonly CrateRule[] = [
  makeRule(
    {
      id: 'metadata-name',
      level: 'MUST',
      profile: documentProfile,
      text: 'The metadata file of a crate in a folder or an archive MUST be named ro-crate-metadata.json.',
      remedy: 'Rename the file, and the @id of its descriptor.',
    },
    ({ isAttached, metadataName }) =>
      isAttached && metadataName !== 'ro-crate-metadata.json'
        ? [{ entity: null, detail: `It is ${quoteText(metadataName)}.` }]
        : [],
  ),
  makeRule(
    {
      id: 'metadata-utf8',
      level: 'MUST',
      profile: documentProfile,
      text: 'The metadata MUST be UTF-8, without a byte order mark.',
      remedy: 'Save the file as UTF-8 without a byte order mark.',
    },
    ({ encodingProblem }) => (encodingProblem === null ? [] : [{ entity: null }]),
  ),
  makeRule(
    {
      id: 'graph',
      level: 'MUST',
      profile: documentProfile,
      text: 'The metadata MUST be a JSON object with a @graph, which is a flat list of entities.',
      remedy: 'Put all entities into one list under "@graph".',
    },
    ({ graph }) => (graph === null ? [{ entity: null }] : []),
  ),
  makeRule(
    {
      id: 'graph-entities',
      level: 'MUST',
      profile: documentProfile,
      text: 'Each item of the @graph MUST be an entity, which is a JSON object.',
      remedy: 'Remove what is no object, or make it a property of an entity.',
    },
    function* ({ graph }) {
      for (const [at, item] of (graph ?? []).entries())
        if (!isJsonObject(item)) yield { entity: `entity ${at + 1} of the @graph` };
    },
  ),
  makeRule(
    {
      id: 'context',
      level: 'MUST',
      profile: documentProfile,
      text: 'The metadata MUST have a @context of addresses and of definitions of terms.',
      remedy: 'Add "@context": "https://w3id.org/ro/crate/VERSION/context" with the version of the crate.',
    },
    ({ context }) => (context.isMissing || context.hasUnreadablePart ? [{ entity: null }] : []),
  ),
  makeRule(
    {
      id: 'context-address',
      level: 'SHOULD',
      profile: documentProfile,
      versions: onlyVersion11,
      text: 'The @context SHOULD name the context of this version of RO-Crate by its address.',
      remedy: 'Put the address into @context, alone or as the first of a list.',
    },
    findWrongContext,
  ),
  makeRule(
    {
      id: 'context-address',
      level: 'MUST',
      profile: documentProfile,
      versions: fromVersion12,
      text: 'The @context MUST name the context of this version of RO-Crate by its address.',
      remedy: 'Put the address into @context, alone or as the first of a list.',
    },
    findWrongContext,
  ),
  makeRule(
    {
      id: 'term-defined',
      level: 'MUST',
      profile: documentProfile,
      text: 'Every property MUST be a term of the @context, since the metadata is compacted JSON-LD.',
      remedy:
        'Use a term of the RO-Crate context, or define this one in a list: "@context": [ADDRESS, {"TERM": "URI"}].',
    },
    (crate) => findUndefinedWords(crate, crate.keysInUse),
  ),
  ...(
    [
      ['SHOULD', onlyVersion11],
      ['MUST', fromVersion12],
    ] as const
  ).map(([level, versions]) =>
    makeRule(
      {
        id: 'type-defined',
        level,
        profile: documentProfile,
        versions,
        text: `Every @type ${level} be a term of the @context.`,
        remedy: 'Use a type of the RO-Crate context, or define this one in the @context.',
      },
      // A whole address is a type by itself, whatever the context.
      (crate) =>
        findUndefinedWords(
          crate,
          crate.typesInUse.filter(({ word }) => !/^[a-z][a-z0-9+.-]*:\/\//i.test(word)),
        ),
    ),
  ),
];
