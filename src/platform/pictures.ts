/**
 * Tells pictures by their bytes, for all who show one to a model. It does not decode them, and does not know media types
 * of names: `core/files/` does.
 */

/** The largest picture that is put into an answer. */
export const maxModelPictureBytes = 1024 * 1024;

/** How the pictures begin that clients can show. A mark is bytes as latin1, at its offset. */
const pictureSignatures: readonly {
  mimeType: string;
  marks: readonly (readonly [offset: number, mark: string])[];
}[] = [
  { mimeType: 'image/png', marks: [[0, '\x89PNG\r\n\x1a\n']] },
  { mimeType: 'image/jpeg', marks: [[0, '\xff\xd8\xff']] },
  { mimeType: 'image/gif', marks: [[0, 'GIF87a']] },
  { mimeType: 'image/gif', marks: [[0, 'GIF89a']] },
  {
    mimeType: 'image/webp',
    marks: [
      [0, 'RIFF'],
      [8, 'WEBP'],
    ],
  },
];

/** Judged by its bytes: a model's provider may refuse a whole conversation over one picture of a wrong type. */
export function detectPictureType(start: Buffer): string | null {
  const text = start.subarray(0, 12).toString('latin1');
  const match = pictureSignatures.find(({ marks }) =>
    marks.every(([offset, mark]) => text.startsWith(mark, offset)),
  );
  return match?.mimeType ?? null;
}
