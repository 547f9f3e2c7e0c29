/**
 * What a rule is, and how most of them are made: a small object that says who demands what, and a function that finds the
 * entities which break it. The rules are in `*-rules.ts`; `validate.ts` runs them.
 */
import { quoteName, quoteShort } from '../../platform/text/text.ts';
import type { CrateVersion } from './context.ts';
import type { DocumentView, ViewedEntity, ViewedValue } from './view.ts';

export type RuleLevel = 'MUST' | 'SHOULD';

/** Who makes the rule: the specification of RO-Crate, or a profile of it. */
export type RuleProfile =
  | 'ro-crate'
  | 'process-run-crate'
  | 'workflow-ro-crate'
  | 'workflow-run-crate'
  | 'provenance-run-crate';

/** A crate as rules see it. */
export interface CrateView extends DocumentView {
  readonly version: CrateVersion;
  /** The profiles that it states or that were asked for, without those that these include. */
  readonly demanded: readonly RuleProfile[];
  /** Whether there is a folder of files around the metadata. */
  readonly isAttached: boolean;
  /** The name of the metadata file. */
  readonly metadataName: string;
  readonly payload: Payload;
}

/** The files of an attached crate, as far as the metadata names them. */
export interface Payload {
  /** Null for what cannot be known, such as hidden files of a folder. */
  hasFile(path: string): boolean | null;
  hasFolder(path: string): boolean | null;
  /** In bytes; null if there is no such file. */
  sizeOf(path: string): number | null;
  /** The beginning of `ro-crate-preview.html`; null if there is none. */
  readonly preview: string | null;
}

/** An entity that breaks a rule, and what is wrong with it where the rule alone does not say so. */
export interface Violation {
  /** The @id; null for the document as a whole. */
  readonly entity: string | null;
  readonly detail?: string;
}

export interface CrateRule {
  /** Stable, such as `root-name`. */
  readonly id: string;
  readonly level: RuleLevel;
  readonly profile: RuleProfile;
  /** The versions of RO-Crate in which it holds. */
  readonly versions: readonly CrateVersion[];
  /** What is demanded, as a sentence. */
  readonly text: string;
  /** What to do, as a sentence. */
  readonly remedy: string;
  find(crate: CrateView): Iterable<Violation>;
}

export const everyVersion: readonly CrateVersion[] = ['1.1', '1.2', '1.3'];
export const fromVersion12: readonly CrateVersion[] = ['1.2', '1.3'];
export const onlyVersion11: readonly CrateVersion[] = ['1.1'];

/** An entity without an @id is named by its place in the graph. */
export const nameEntity = ({ id, at }: ViewedEntity): string => id ?? `entity ${at + 1} of the @graph`;

/** A text of the crate in a sentence of ours. */
export const quoteText = (text: string): string => quoteShort(text, 200);

/** Names of the crate, such as keys and types. */
export const quoteNames = (names: readonly string[]): string =>
  names
    .slice(0, 5)
    .map((name) => quoteName(name.slice(0, 100)))
    .join(', ');

export const hasAnyType = (entity: ViewedEntity | null, types: readonly string[]): boolean =>
  entity !== null && types.some((type) => entity.types.includes(type));

/** Whether a property has some text, or another plain value. */
export const hasPlainValue = (crate: CrateView, entity: ViewedEntity, property: string): boolean =>
  crate
    .valuesOf(entity, property)
    .some(
      (value) => value.kind === 'number or boolean' || (value.kind === 'text' && value.text.trim() !== ''),
    );

/** Whether a property has a value of any kind but blank text. */
export const hasValue = (crate: CrateView, entity: ViewedEntity, property: string): boolean =>
  crate
    .valuesOf(entity, property)
    .some((value) => ('text' in value ? value.text.trim() !== '' : value.kind === 'reference'));

/** What a value says: its text, or the id of what it refers to. */
export const toValueText = (value: ViewedValue): string =>
  value.kind === 'reference' ? value.id : 'text' in value ? value.text : '';

/** The entities that a property refers to and that are described in the crate. */
export const findTargets = (crate: CrateView, entity: ViewedEntity, property: string): ViewedEntity[] =>
  crate
    .valuesOf(entity, property)
    .flatMap((value) => (value.kind === 'reference' && value.entity !== null ? [value.entity] : []));

type RuleHead = Pick<CrateRule, 'id' | 'level' | 'profile' | 'text' | 'remedy'> &
  Partial<Pick<CrateRule, 'versions'>>;

export const makeRule = (head: RuleHead, find: CrateRule['find']): CrateRule => ({
  versions: everyVersion,
  ...head,
  find,
});

/** A rule about each entity of some types. */
export const makeTypeRule = (
  head: RuleHead,
  types: readonly string[],
  findWrong: (crate: CrateView, entity: ViewedEntity) => string | boolean,
): CrateRule =>
  makeRule(head, function* (crate) {
    for (const entity of new Set(types.flatMap((type) => crate.ofType(type)))) {
      const wrong = findWrong(crate, entity);
      if (wrong !== false) yield toViolation(entity, wrong);
    }
  });

/** True if the rule says it all, else what is wrong. */
export const toViolation = (entity: ViewedEntity, wrong: string | true): Violation => ({
  entity: nameEntity(entity),
  ...(wrong === true ? {} : { detail: wrong }),
});

export interface ReferenceDemand {
  readonly property: string;
  /** What each value has to refer to; `described` is any entity of the crate. */
  readonly to: readonly string[] | 'described';
  /** Whether there has to be one. */
  readonly isNeeded: boolean;
}

/** What is wrong with the references of an entity; false if nothing is. */
export function findWrongReference(
  crate: CrateView,
  entity: ViewedEntity,
  { property, to, isNeeded }: ReferenceDemand,
): string | false {
  const values = crate.valuesOf(entity, property);
  if (values.length === 0) return isNeeded ? `It has no ${property}.` : false;
  const wrong = values.find(
    (value) =>
      value.kind !== 'reference' ||
      (to === 'described' ? value.entity === null : !hasAnyType(value.entity, to)),
  );
  if (wrong === undefined) return false;
  if (wrong.kind !== 'reference') return `Its ${property} is no reference in the form {"@id": …}.`;
  if (wrong.entity === null) return `Its ${property} is ${quoteText(wrong.id)}, which is not described.`;
  return `Its ${property} is ${quoteText(wrong.id)}, which is ${quoteNames(wrong.entity.types) || 'of no type'}.`;
}
