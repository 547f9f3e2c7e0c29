import { entity, iso, reference, references, type GraphEntity } from './entity.ts';
import { idOfPath, localId } from './ids.ts';
import type { MissingFile, Origin, PackedFile } from './packed.ts';

/** `sha256` is a term of the RO-Crate 1.3 context (schema.org), so nothing has to be added to that. */
export function fileEntity(file: PackedFile, about: string | null = null): GraphEntity {
  return entity(idOfPath(file.path), 'File', {
    ...described(file),
    about: about === null ? null : reference(about),
  });
}

/** The code is a file and the instrument at once, so it is one entity of both types. */
export function codeEntity(file: PackedFile, language: string, needs: readonly string[]): GraphEntity {
  return entity(idOfPath(file.path), ['File', 'SoftwareSourceCode'], {
    ...described(file),
    programmingLanguage: reference(language),
    softwareRequirements: references(needs),
  });
}

function described(file: PackedFile) {
  return {
    name: lastName(file.knownAs ?? file.path),
    description: file.description,
    alternateName: file.knownAs,
    contentSize: String(file.size),
    encodingFormat: file.mediaType,
    sha256: file.sha256,
    dateModified: file.modified === null ? null : iso(file.modified),
    isBasedOn: file.origin === null ? null : reference(originId(file.origin)),
  };
}

const lastName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** A `#` makes it an entity that is no part of the payload: RO-Crate's way to tell of a file that is not there. */
export const missingId = ({ name }: MissingFile): string => localId('input', name);

export function missingEntity(file: MissingFile): GraphEntity {
  return entity(missingId(file), 'File', {
    name: file.name,
    description:
      'A file that the run was given. It was gone when the run was packed, and is not in this crate.',
    alternateName: file.name,
    localPath: `inputs/${file.name}`,
    contentSize: String(file.size),
    sha256: file.sha256,
    isBasedOn: file.origin === null ? null : reference(originId(file.origin)),
  });
}

const originId = ({ crateId, path }: Origin): string => localId(crateId, path);
const crateEntityId = ({ crateId }: Origin): string => `#${crateId}`;

/** The files of other crates that some of these are copies of, and those crates. */
export function originEntities(files: readonly { readonly origin: Origin | null }[]): GraphEntity[] {
  const found = new Map<string, GraphEntity>();
  for (const { origin } of files) {
    if (origin === null) continue;
    const { crateId, path } = origin;
    const crate = reference(crateEntityId(origin));
    const file = { name: path, identifier: `${crateId}/${path}`, isPartOf: crate };
    found.set(originId(origin), entity(originId(origin), 'CreativeWork', file));
    const whole = { name: `The crate ${crateId}`, identifier: crateId };
    found.set(crate['@id'], entity(crate['@id'], 'Dataset', whole));
  }
  return [...found.values()];
}
