import { hash, randomBytes } from 'node:crypto';

/** A right to fetch or send, as 32 random bytes. Only its hash is ever stored, and it is in no log. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

const form = /^[A-Za-z0-9_-]{43}$/;

/** Whether a string can be a token at all, so that nothing else is looked up. */
export function isToken(value: string): boolean {
  return form.test(value);
}

export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** The name of a link or upload that people and logs may see: it opens nothing. */
export function publicId(tokenHash: string): string {
  return tokenHash.slice(0, 16);
}
