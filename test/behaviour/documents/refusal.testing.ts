/** Something that somebody may send, and how it is refused. */
export interface Refused {
  readonly name: string;
  /** Arguments of build_exports_content. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Null where the arguments do not fit the schema. */
  readonly code: string | null;
  readonly says: RegExp;
}

export const textOf = (documentContent: string): Record<string, unknown> => ({ documentContent });

export const invalid = (name: string, input: Record<string, unknown>, says: RegExp): Refused => ({
  name,
  input,
  code: 'document_invalid',
  says,
});
