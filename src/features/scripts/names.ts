/** What may be the name of a script, and how one version of it is named: `plot` is the latest, `plot@3` the third. */

/** No slash, no dot at the start: a name is never a path, and never an option. */
export const scriptNameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const referenceForm = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63})(?:@([1-9]\d{0,8}))?$/;

export const scriptNameRule =
  'the name of a script has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit';

/** A script, or one version of it. */
export interface ScriptReference {
  readonly name: string;
  /** Null is the latest, or all. */
  readonly version: number | null;
}

/** Null where it is no name. */
export function parseScriptReference(text: string): ScriptReference | null {
  const [, name, version] = referenceForm.exec(text) ?? [];
  if (name === undefined) return null;
  return { name, version: version === undefined ? null : Number(version) };
}

/** The name of one version, as records and crates have it. */
export const toScriptLabel = ({ name, version }: { name: string; version: number }): string =>
  `${name}@${version}`;
