/** What the list of references is called; in other languages it is called as in English. */
const names: Readonly<Record<string, string>> = {
  en: 'References',
  de: 'Literatur',
  fr: 'Références',
  es: 'Referencias',
  it: 'Riferimenti bibliografici',
  pt: 'Referências',
  ca: 'Referències',
  ro: 'Bibliografie',
  nl: 'Referenties',
  da: 'Litteratur',
  sv: 'Referenser',
  nb: 'Referanser',
  nn: 'Referansar',
  fi: 'Lähteet',
  pl: 'Bibliografia',
  cs: 'Literatura',
  sk: 'Literatúra',
  sl: 'Literatura',
  hr: 'Literatura',
  hu: 'Irodalom',
  tr: 'Kaynakça',
  el: 'Βιβλιογραφία',
  ru: 'Литература',
  uk: 'Література',
  bg: 'Литература',
  ja: '参考文献',
  zh: '参考文献',
  ko: '참고 문헌',
};

interface Block {
  readonly t: string;
  readonly c?: unknown;
}

/**
 * The heading for a list of references at the end; null where the document has one of its own: it ends with a heading,
 * or says where the list is to stand, or has no headings at all.
 */
export function headingFor(blocks: readonly Block[], language: string): Block | null {
  const levels = blocks.flatMap(({ t, c }) => (t === 'Header' ? (c as [number])[0] : []));
  if (levels.length === 0 || blocks.at(-1)!.t === 'Header') return null;
  const level = levels.reduce((least, one) => Math.min(least, one));
  const name = names[language.toLowerCase().split('-')[0] ?? ''] ?? names['en']!;
  const words = name
    .split(' ')
    .flatMap((word, at) => [...(at > 0 ? [{ t: 'Space' }] : []), { t: 'Str', c: word }]);
  return { t: 'Header', c: [level, ['bibliography', ['unnumbered'], []], words] };
}
