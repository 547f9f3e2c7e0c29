/** Cc are control characters; the others turn the direction of all that follows, or end a line. */
const unwanted = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const keptInText = new Set(['\n', '\t']);

/** One line that can be shown anywhere. */
export function shownLine(text: string, most: number): string {
  return text
    .slice(0, 4 * most)
    .toWellFormed()
    .replace(unwanted, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed();
}

/** Text that may have lines, without what does harm where it is shown. */
export function plainText(text: string, most: number): string {
  const whole = text.length > most ? text.slice(0, most) : text;
  return whole.toWellFormed().replace(unwanted, (character) => (keptInText.has(character) ? character : ' '));
}
