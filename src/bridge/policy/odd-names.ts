import type { OddKind } from './refusal.ts';

interface Form {
  readonly kind: OddKind;
  readonly form: RegExp;
  /** Whether a path that takes this form once its characters are made plain is refused too. */
  readonly plain: boolean;
}

const device =
  /(?:^|\/)(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9¹²³])\s*(?:\.[^/]*)?(?:\/|$)/i;

/**
 * Forms of a path in which some system, shell or careless program takes a name for another one. Which system the client
 * has is not known, so that the rules of all of them hold. Brackets are left: frameworks name files `[id].ts`. So are
 * `：` and `？`, which are honest in Chinese and Japanese, and lead to no other folder where they are taken for plain ones.
 */
const oddForms: readonly Form[] = [
  { kind: 'control', form: /[\p{Cc}\p{Zl}\p{Zp}]/u, plain: false },
  // HFS+ leaves some of them out when it compares names. A heart may be a red one.
  {
    kind: 'invisible',
    form: /[\p{Cf}\p{Default_Ignorable_Code_Point}](?<!\p{Extended_Pictographic}\ufe0f)/u,
    plain: false,
  },
  { kind: 'stream', form: /:/, plain: false },
  // Not `$id` within a path, which is a name of routes.
  { kind: 'variable', form: /^\$|%[A-Za-z_][^%/]*%|\$[({]|`|\$[A-Z_][A-Z0-9_]+(?![a-z])/, plain: true },
  { kind: 'percent', form: /%(?:[0-9a-f]{2}|u[0-9a-f]{4})/i, plain: true },
  { kind: 'home', form: /^~/, plain: true },
  { kind: 'device', form: device, plain: true },
  { kind: 'short_name', form: /(?:^|\/)[^./]{1,7}~\d+(?:\.[^./]{0,3})?(?:\/|$)/, plain: true },
  { kind: 'edges', form: /(?:^|\/)\s|[\s.](?:\/|$)/, plain: false },
  // Windows takes < > and " for wildcards as well.
  { kind: 'wildcard', form: /[*?<>"|]|\{[^/{]*(?:,|\.\.)/, plain: false },
];

/**
 * Whether a path is short, and of nothing but letters, digits, `_` and `-`, with single dots and slashes between them.
 * Most of a long listing are, and there is nothing in them to be decoded or normalised.
 */
export const isPlain = (path: string): boolean => /^(?=.{1,255}$)[\w-]+(?:[./][\w-]+)*$/.test(path);

/** Why a path of names with single slashes between them may not be asked for. */
export function oddKind(path: string): OddKind | null {
  if (isPlain(path)) return device.test(path) ? 'device' : null;
  const odd = oddForms.find(({ form }) => form.test(path));
  return odd?.kind ?? (isSeenThrough(path) ? 'alike' : null);
}

export const hiddenIn = (path: string): boolean => path.startsWith('.') || path.includes('/.');

/** Whether a path takes an odd form, or a name becomes a hidden one, once its characters are made plain. */
function isSeenThrough(path: string): boolean {
  const made = path.replace(/(?<=^|\/)[\u0701\u0702\u3002\ua4f8\ua60e]/g, '.').normalize('NFKC');
  if (made === path) return false;
  if (oddForms.some(({ form, plain }) => plain && form.test(made))) return true;
  return hiddenIn(made) && countHidden(made) > countHidden(path);
}

const countHidden = (path: string): number => path.split('/').filter(hiddenIn).length;
