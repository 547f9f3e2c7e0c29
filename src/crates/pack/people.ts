import { WorkcrateError } from '../../errors.ts';
import { entity, reference, type GraphEntity } from './entity.ts';
import { localId } from './ids.ts';
import type { Author } from './packed.ts';

/** Who ran it: the same id in every crate of the user's. */
export function agentEntity(user: string): GraphEntity {
  return entity(localId('user', user), 'Person', { name: user, givenName: user, identifier: user });
}

/** The authors and where they work. Two that have the same id are the same person. */
export function authorEntities(authors: readonly Author[]): {
  people: GraphEntity[];
  organisations: GraphEntity[];
} {
  const people = new Map<string, GraphEntity>();
  const organisations = new Map<string, GraphEntity>();
  for (const { name, orcid, affiliation } of authors) {
    const id = orcid === undefined ? localId('author', name) : orcidUrl(orcid);
    const employer = affiliation === undefined ? null : localId('organisation', affiliation);
    if (employer !== null)
      organisations.set(employer, entity(employer, 'Organization', { name: affiliation! }));
    const person = { name, affiliation: employer === null ? null : reference(employer) };
    if (!people.has(id)) people.set(id, entity(id, 'Person', person));
  }
  return { people: [...people.values()], organisations: [...organisations.values()] };
}

/** The address of an ORCID iD, whose last digit proves the others (ISO 7064, 11-2). */
export function orcidUrl(text: string): string {
  const id = /^(?:https?:\/\/orcid\.org\/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])\/?$/i.exec(text.trim())?.[1];
  if (id !== undefined && hasRightEnd(id.toUpperCase())) return `https://orcid.org/${id.toUpperCase()}`;
  throw new WorkcrateError(
    'invalid_input',
    `${JSON.stringify(text.slice(0, 60))} is no ORCID iD. Write it as 0000-0002-1825-0097, or leave it out.`,
  );
}

function hasRightEnd(id: string): boolean {
  const digits = id.replaceAll('-', '');
  const sum = digits
    .slice(0, 15)
    .split('')
    .reduce((total, digit) => (total + Number(digit)) * 2, 0);
  const check = (12 - (sum % 11)) % 11;
  return digits.at(-1) === (check === 10 ? 'X' : String(check));
}
