/** The families that the compiler brings along: Latin, Greek and Cyrillic; Hebrew and more; signs; maths. */
const [text, wider, code, maths] = [
  'Libertinus Serif',
  'New Computer Modern',
  'DejaVu Sans Mono',
  'New Computer Modern Math',
] as const;

/** Text looks for its characters in this order. Signs come last, since the fonts for them are not made for reading. */
export const textFamilies = (found: readonly string[]): string[] =>
  unique([text, wider, ...found, code, maths]);

export const codeFamilies = (families: readonly string[]): string[] => unique([code, ...families]);

export const mathFamilies = (families: readonly string[]): string[] => unique([maths, ...families]);

const unique = (names: readonly string[]): string[] => [...new Set(names)];

/** What stands at the end of the names of families that are made for one way of writing Chinese characters. */
const endings: Readonly<Record<string, string>> = { Hans: 'SC', Hant: 'TC', Jpan: 'JP', Kore: 'KR' };

/** One character is drawn differently in Beijing, Taipei, Tokyo and Seoul: the family of the language goes first. */
export function familiesFor(language: string, families: readonly string[]): string[] {
  const ending = endings[localeOf(language).maximize().script ?? ''];
  const isOwn = (family: string): boolean => ending !== undefined && family.split(' ').includes(ending);
  const others = Object.values(endings);
  const isOther = (family: string): boolean => family.split(' ').some((word) => others.includes(word));
  const drawn = families.filter(isOther);
  const ordered = [...drawn.filter(isOwn), ...drawn.filter((family) => !isOwn(family))];
  let next = 0;
  return families.map((family) => (isOther(family) ? ordered[next++]! : family));
}

/** What Typst takes for the language of a text, such as `de` and `CH`; English where it is none. */
export function languageOf(tag: string): { readonly language: string; readonly region: string | null } {
  const { language, region = null } = localeOf(tag);
  return { language, region: region !== null && /^[A-Z]{2}$/.test(region) ? region : null };
}

function localeOf(tag: string): Intl.Locale {
  try {
    const locale = new Intl.Locale(tag);
    return /^[a-z]{2,3}$/.test(locale.language) ? locale : new Intl.Locale('en');
  } catch (error) {
    if (error instanceof RangeError) return new Intl.Locale('en');
    throw error;
  }
}
