import { randomBytes } from 'node:crypto';

/** 17 letters are more than anybody can guess. */
const secretLetters = 17;

/** A word that no text contains, because it is made after the text: it stands for what is put back later. */
export const makeSecretWord = (): string =>
  `q${[...randomBytes(secretLetters)].map((byte) => String.fromCodePoint(97 + (byte % 26))).join('')}`;
