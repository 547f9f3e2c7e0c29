import { lookup } from 'mime-types';

/** The media type that a name's ending stands for, else plain bytes. */
export function mediaTypeOf(name: string): string {
  return lookup(name) || 'application/octet-stream';
}

const form = /^[a-z0-9!#$&^_.+-]{1,100}\/[a-z0-9!#$&^_.+-]{1,100}(?:; ?charset=[a-z0-9-]{1,40})?$/i;

/** Whether a media type given by a stranger may stand in a header. */
export function isMediaType(value: string): boolean {
  return form.test(value);
}
