import { createHash } from 'node:crypto';
import { foldCaseAndAccents } from '../text/words.ts';
import { asKey, kinds } from './keys.ts';

/** So much of a value is looked through for a part of it. */
const mostFolded = 500;
const mostExact = 200;

/** A value as it is compared: what looks the same is the same, and white space around it does not count. */
export const valueForm = (text: string): string => text.normalize('NFC').trim();

/** A value as a part of it is looked for. */
export const foldedValue = (value: string): string =>
  asKey(foldCaseAndAccents(value.slice(0, mostFolded)).slice(0, mostFolded));

/** A property or a type: so much of its name tells it apart. */
export const nameKey = (name: string): string => asKey(name.slice(0, mostExact));

/** What the keys of a property begin with, whatever the type of the entity. */
export const propertyPrefix = (property: string): string => `${kinds.entity}${nameKey(property)}\0`;

/** What the keys of a property of entities of one type begin with; `type` as it stands in keys. */
export const typePrefix = (property: string, type: string): string => `${propertyPrefix(property)}${type}\0`;

/** What follows for one value: it is found by a part of it as well as whole. */
export function valuePart(text: string): string {
  if (plainPattern.test(text) && text.length <= mostExact) {
    const part = text.toLowerCase();
    return part === text ? `${part}\0` : `${part}\0${text}`;
  }
  const value = valueForm(text);
  const part = foldedValue(value);
  const own = asKey(value);
  return `${part}\0${own === part ? '' : shortenEntityValue(own)}`;
}

/** ASCII without NUL, and no white space around it: as it is, it is a key. */
const plainPattern = /^(?!\s)[\u0001-\u007f]*(?<!\s)$/;

function shortenEntityValue(value: string): string {
  if (value.length <= mostExact) return value;
  return `\u0001${createHash('sha256').update(value, 'latin1').digest('base64url')}`;
}
