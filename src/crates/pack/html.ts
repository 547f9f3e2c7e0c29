const named: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Characters that HTML refuses, or that turn the direction of what comes after them, are shown as a mark. */
const unseen =
  // oxlint-disable-next-line no-control-regex -- these are what must not get through
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Noncharacter_Code_Point}]/gu;

/** Any text as text, inside of an element or of a quoted attribute. */
export function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(unseen, '\ufffd')
    .replace(/[&<>"']/g, (mark) => named[mark]!);
}

/** A link, if that is where a browser may go: a page of the web, or a file beside this one. */
export function link(address: string, text: string): string {
  const isWeb = /^https?:\/\//i.test(address);
  const isBeside = !/^[^/?#]*:/.test(address) && !address.startsWith('/');
  return isWeb || isBeside ? `<a href="${escaped(address)}">${escaped(text)}</a>` : escaped(text);
}

const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];

export function readableSize(bytes: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return step === 0 ? `${bytes} bytes` : `${(bytes / 1000 ** step).toFixed(1)} ${units[step]}`;
}
