/** Whether a text can be stored as it is: PostgreSQL refuses NUL, and half a character is no UTF-8. */
export function isClean(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

export function cleaned(text: string): string {
  return isClean(text) ? text : text.toWellFormed().replaceAll('\0', '\u{fffd}');
}

/** The start of a text, splitting no character; an ellipsis shows that it was cut. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.codePointAt(most - 2)! > 0xffff ? most - 2 : most - 1;
  return `${text.slice(0, end)}…`;
}
