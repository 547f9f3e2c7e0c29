/** Rules about data entities: the files and folders of a crate, and those on the web that belong to it. */
import {
  fromVersion12,
  hasValue,
  hasAnyType,
  makeRule,
  nameEntity,
  toValueText,
  toViolation,
  type CrateView,
  type CrateRule,
  type Violation,
} from './rule.ts';
import type { ViewedEntity } from './view.ts';
import { findInvalidUriPart } from './entity-rules.ts';

const dataProfile = 'ro-crate';

/** Files and folders, but what has an @id that begins with # or _: is only described. */
const isDataEntity = (crate: CrateView, entity: ViewedEntity): boolean =>
  entity !== crate.root &&
  entity !== crate.descriptor &&
  entity.id !== null &&
  !/^(?:\.\/)?#|^_:/.test(entity.id) &&
  hasAnyType(entity, ['File', 'Dataset']);

const listDataEntities = (crate: CrateView): ViewedEntity[] =>
  [...new Set([...crate.ofType('File'), ...crate.ofType('Dataset')])].filter((entity) =>
    isDataEntity(crate, entity),
  );

/** The path of an entity in the crate; null if it is on the web, somewhere on a machine, or a part of a file. */
function findLocalPath(crate: CrateView, { id }: ViewedEntity): string | null {
  const path = id === null ? null : crate.toPath(id);
  return path === null || path === '' || path.startsWith('/') || path.includes('#') ? null : path;
}

const makeDataRule = (
  head: Parameters<typeof makeRule>[0],
  findWrong: (crate: CrateView, entity: ViewedEntity) => string | boolean,
): CrateRule =>
  makeRule(head, function* (crate) {
    for (const entity of listDataEntities(crate)) {
      const wrong = findWrong(crate, entity);
      if (wrong !== false) yield toViolation(entity, wrong);
    }
  });

/** All that hasPart leads to from the root. */
function collectParts(crate: CrateView): Set<ViewedEntity> {
  const parts = new Set<ViewedEntity>(crate.root === null ? [] : [crate.root]);
  for (const entity of parts)
    for (const value of crate.valuesOf(entity, 'hasPart'))
      if (value.kind === 'reference' && value.entity !== null) parts.add(value.entity);
  return parts;
}

function* findUnlinked(crate: CrateView): Iterable<Violation> {
  if (crate.root === null) return;
  const parts = collectParts(crate);
  for (const entity of listDataEntities(crate)) if (!parts.has(entity)) yield { entity: nameEntity(entity) };
}

/** Parts that are in the crate, but whose type does not say what they are. */
function* findUntypedParts(crate: CrateView): Iterable<Violation> {
  for (const entity of collectParts(crate)) {
    const path = entity === crate.root || entity === crate.descriptor ? null : findLocalPath(crate, entity);
    if (path === null || hasAnyType(entity, ['File', 'Dataset'])) continue;
    if (crate.payload.hasFile(path) === true)
      yield { entity: nameEntity(entity), detail: 'It is a file of the crate.' };
    else if (crate.payload.hasFolder(path) === true)
      yield {
        entity: nameEntity(entity),
        detail: 'It is a folder of the crate, so its @type has to be Dataset.',
      };
  }
}

function findWrongSize(crate: CrateView, entity: ViewedEntity): string | false {
  const path = findLocalPath(crate, entity);
  const size = path === null ? null : crate.payload.sizeOf(path);
  if (size === null || !hasAnyType(entity, ['File'])) return false;
  const stated = crate.valuesOf(entity, 'contentSize').map(toValueText);
  const wrong = stated.find((text) => /^\d+$/.test(text) && Number(text) !== size);
  return wrong !== undefined && `It states ${wrong} bytes, and the file has ${size}.`;
}

const isOnWeb = (entity: ViewedEntity): boolean => /^(?:https?|ftps?):/i.test(entity.id ?? '');

export const dataRules: readonly CrateRule[] = [
  makeRule(
    {
      id: 'data-linked',
      level: 'MUST',
      profile: dataProfile,
      text: 'Files and folders MUST be linked from the root by hasPart, directly or by way of others.',
      remedy:
        'Add it to hasPart of the root or of its folder. If it is not part of the crate, let its @id begin with #.',
    },
    findUnlinked,
  ),
  makeDataRule(
    {
      id: 'file-present',
      level: 'MUST',
      profile: dataProfile,
      text: 'A File with a relative @id MUST be in the crate, at that path.',
      remedy: 'Add the file, correct the path (upper and lower case and %20 matter), or remove the entity.',
    },
    (crate, entity) => {
      const path = crate.isAttached && hasAnyType(entity, ['File']) ? findLocalPath(crate, entity) : null;
      // A folder that is called a file, as in a File with a slash at its end, is there all the same.
      return (
        path !== null && crate.payload.hasFile(path) === false && crate.payload.hasFolder(path) === false
      );
    },
  ),
  makeDataRule(
    {
      id: 'folder-present',
      level: 'MUST',
      profile: dataProfile,
      text: 'A Dataset with a relative @id MUST be a folder of the crate.',
      remedy: 'Add the folder, correct the path, or let its @id begin with # if it only groups things.',
    },
    (crate, entity) => {
      const path = crate.isAttached && !hasAnyType(entity, ['File']) ? findLocalPath(crate, entity) : null;
      return (
        path !== null && crate.payload.hasFolder(path) === false && crate.payload.hasFile(path) === false
      );
    },
  ),
  makeDataRule(
    {
      id: 'data-id',
      level: 'MUST',
      profile: dataProfile,
      text: 'The @id of a file or folder MUST be a URI path below the root, or an absolute URI.',
      remedy: 'Escape it: %20 for a space, %25 for a percent sign, / between folders.',
    },
    (_crate, { id }) => {
      const part = findInvalidUriPart(id!);
      return part !== null && `It contains ${part}.`;
    },
  ),
  makeRule(
    {
      id: 'data-type',
      level: 'MUST',
      profile: dataProfile,
      text: 'A file of the crate MUST have File among its types, and a folder Dataset.',
      remedy: 'Add the type: "@type": ["File", …].',
    },
    findUntypedParts,
  ),
  makeDataRule(
    {
      id: 'data-detached',
      level: 'MUST',
      profile: dataProfile,
      versions: fromVersion12,
      text: 'Files and folders of a detached crate MUST have absolute URIs as @id, since there are none around it.',
      remedy:
        'Use the URL of the file, or name the metadata ro-crate-metadata.json and put it beside the files.',
    },
    (crate, entity) => !crate.isAttached && findLocalPath(crate, entity) !== null,
  ),
  makeDataRule(
    {
      id: 'folder-slash',
      level: 'SHOULD',
      profile: dataProfile,
      text: 'The @id of a folder SHOULD end with a slash.',
      remedy: 'Add the slash, here and where it is referred to.',
    },
    (crate, entity) =>
      hasAnyType(entity, ['Dataset']) && findLocalPath(crate, entity) !== null && !entity.id!.endsWith('/'),
  ),
  makeDataRule(
    {
      id: 'file-format',
      level: 'SHOULD',
      profile: dataProfile,
      text: 'A File SHOULD have an encodingFormat, which is its media type.',
      remedy: 'Add it, such as "encodingFormat": "text/csv".',
    },
    (crate, entity) => hasAnyType(entity, ['File']) && !hasValue(crate, entity, 'encodingFormat'),
  ),
  makeDataRule(
    {
      id: 'file-size',
      level: 'SHOULD',
      profile: dataProfile,
      text: 'The contentSize of a File SHOULD be its size in bytes.',
      remedy: 'Correct it, or find out how the file was changed.',
    },
    findWrongSize,
  ),
  makeDataRule(
    {
      id: 'file-size-stated',
      level: 'SHOULD',
      profile: dataProfile,
      versions: fromVersion12,
      text: 'A File SHOULD have a contentSize, in bytes.',
      remedy: 'Add it, such as "contentSize": "383766".',
    },
    (crate, entity) => hasAnyType(entity, ['File']) && !hasValue(crate, entity, 'contentSize'),
  ),
  makeDataRule(
    {
      id: 'web-date',
      level: 'SHOULD',
      profile: dataProfile,
      text: 'A File on the web SHOULD have an sdDatePublished: when its address was last seen.',
      remedy: 'Add the day, such as "sdDatePublished": "2024-05-17".',
    },
    (crate, entity) =>
      hasAnyType(entity, ['File']) && isOnWeb(entity) && !hasValue(crate, entity, 'sdDatePublished'),
  ),
  makeRule(
    {
      id: 'preview-html',
      level: 'MUST',
      profile: dataProfile,
      text: 'A ro-crate-preview.html MUST be a document of HTML 5.',
      remedy: 'Begin it with <!DOCTYPE html>, or remove it.',
    },
    ({ payload }) =>
      payload.preview === null || /<!doctype\s+html/i.test(payload.preview)
        ? []
        : [{ entity: 'ro-crate-preview.html' }],
  ),
];
