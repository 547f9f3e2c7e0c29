import { existsSync, readFileSync } from 'node:fs';
import { needs } from '../test/requirements/requirement-needs.testing.ts';
import { parts } from '../test/requirements/requirements.testing.ts';

/** Of what tests recorded in files: the parts of the specification that none has proven, each with what is wrong. */
export function findUnproven(...files: readonly string[]): { unproven: string[]; lacking: string[] } {
  const proven = new Set(files.filter((file) => existsSync(file)).flatMap(readLines));
  const missing = parts.filter((part) => !proven.has(part));
  return {
    unproven: missing.filter((part) => needs[part] === undefined),
    lacking: missing
      .filter((part) => needs[part] !== undefined)
      .map((part) => `${part}: needs ${needs[part]}`),
  };
}

const readLines = (file: string): string[] => readFileSync(file, 'utf8').split('\n');
