/**
 * The door of this room: the actions of a crate with what they used and made, for a graph. It is bounded, whatever the
 * crate says, and reads metadata alone: whether a file is really there, it does not know.
 */
import type { CrateMetadata, Entity, EntityProperty } from '../crate.ts';
import { entityIdToPath } from '../metadata/metadata.ts';

/** Something that an action used or made: a file, a parameter, a program. */
export interface ProvenanceThing {
  readonly id: string;
  readonly name: string;
  /** The path that it would have in the crate; null for what is no file there. */
  readonly path: string | null;
}

export interface ProvenanceAction {
  readonly id: string;
  readonly name: string;
  readonly agents: readonly string[];
  readonly instruments: readonly ProvenanceThing[];
  /** The first of what it used, and how much that is in all. */
  readonly objects: readonly ProvenanceThing[];
  readonly objectCount: number;
  readonly results: readonly ProvenanceThing[];
  readonly resultCount: number;
  /** As the crate has it. */
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly failed: boolean;
}

export interface CrateProvenance {
  /** The first of them, by the time at which they began. */
  readonly actions: readonly ProvenanceAction[];
  readonly actionCount: number;
}

const actionTypes: ReadonlySet<string> = new Set([
  'Action',
  'ActivateAction',
  'CreateAction',
  'UpdateAction',
]);

/** Whether a type is one of those that `readProvenance` finds. */
export const isActionType = (type: string): boolean => actionTypes.has(type);

const maxActions = 40;
const maxThings = 60;
const maxPeople = 5;
const maxName = 200;

export function readProvenance({ entities }: Pick<CrateMetadata, 'entities'>): CrateProvenance {
  const found = entities.filter(({ types }) => types.some(isActionType));
  const inOrder = found
    .map((entity) => ({ entity, start: findText(entity, 'startTime') ?? findText(entity, 'endTime') ?? '' }))
    .toSorted((one, other) => (one.start < other.start ? -1 : Number(one.start > other.start)));
  const actions = inOrder.slice(0, maxActions).map(({ entity }) => describeAction(entity, entities));
  return { actions, actionCount: found.length };
}

function describeAction(action: Entity, entities: readonly Entity[]): ProvenanceAction {
  const list = (name: string) => listThings(action, name, entities);
  const [objects, results] = [list('object'), list('result')];
  return {
    id: action.id,
    name: cutName(findText(action, 'name') ?? action.id),
    agents: list('agent')
      .slice(0, maxPeople)
      .map(({ name }) => name),
    instruments: list('instrument').slice(0, maxPeople),
    objects: objects.slice(0, maxThings),
    objectCount: objects.length,
    results: results.slice(0, maxThings),
    resultCount: results.length,
    startedAt: findText(action, 'startTime'),
    endedAt: findText(action, 'endTime'),
    failed: listTexts(action, 'actionStatus', entities).some((status) =>
      status.endsWith('FailedActionStatus'),
    ),
  };
}

/** Each once, however often it is named. */
function listThings({ properties }: Entity, name: string, entities: readonly Entity[]): ProvenanceThing[] {
  const things = new Map<string, ProvenanceThing>();
  for (const property of properties) {
    if (property.name !== name) continue;
    const id = 'text' in property ? property.text : entities[property.target]!.id;
    if (!things.has(id)) things.set(id, describeThing(property, entities));
  }
  return [...things.values()];
}

function describeThing(property: EntityProperty, entities: readonly Entity[]): ProvenanceThing {
  if ('text' in property) return { id: property.text, name: cutName(property.text), path: null };
  const entity = entities[property.target]!;
  const isFile = entity.types.some((type) => type === 'File' || type === 'MediaObject');
  const path = isFile ? entityIdToPath(entity.id) : null;
  const name = findText(entity, 'name') ?? path ?? entity.id;
  const value = entity.types.includes('PropertyValue') ? findText(entity, 'value') : null;
  return { id: entity.id, name: cutName(value === null ? name : `${name} = ${value}`), path };
}

function listTexts({ properties }: Entity, name: string, entities: readonly Entity[]): string[] {
  return properties
    .filter((property) => property.name === name)
    .map((property) => ('text' in property ? property.text : entities[property.target]!.id));
}

/** The first text of a property that is not blank. */
function findText({ properties }: Entity, name: string): string | null {
  for (const property of properties)
    if (property.name === name && 'text' in property && property.text.trim() !== '')
      return property.text.trim();
  return null;
}

const cutName = (text: string): string =>
  text.length <= maxName ? text : `${text.slice(0, maxName - 1).toWellFormed()}…`;
