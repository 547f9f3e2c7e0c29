/** Without its first letter, which may be spelled in other ways. */
const key = /ck_[\w-]{43}/gi;
const tokenInUrl = /(\/(?:files|uploads|ask)\/)[\w-]{43}/g;

/** The same text, without keys and links that somebody has pasted where they do not belong. */
export function withoutSecrets(text: string): string {
  return text.replaceAll(key, 'ck_…').replaceAll(tokenInUrl, '$1…');
}
