/** Words that a format does not get from its own program: contents, figure, table. */
export interface Words {
  readonly contents: string;
  readonly figure: string;
  readonly table: string;
}

const known: Readonly<Record<string, readonly [contents: string, figure: string, table: string]>> = {
  cs: ['Obsah', 'Obrázek', 'Tabulka'],
  da: ['Indhold', 'Figur', 'Tabel'],
  de: ['Inhalt', 'Abbildung', 'Tabelle'],
  el: ['Περιεχόμενα', 'Σχήμα', 'Πίνακας'],
  en: ['Contents', 'Figure', 'Table'],
  es: ['Índice', 'Figura', 'Tabla'],
  fi: ['Sisällys', 'Kuva', 'Taulukko'],
  fr: ['Table des matières', 'Figure', 'Tableau'],
  hu: ['Tartalom', 'Ábra', 'Táblázat'],
  it: ['Indice', 'Figura', 'Tabella'],
  ja: ['目次', '図', '表'],
  ko: ['목차', '그림', '표'],
  nb: ['Innhold', 'Figur', 'Tabell'],
  nl: ['Inhoud', 'Figuur', 'Tabel'],
  nn: ['Innhald', 'Figur', 'Tabell'],
  no: ['Innhold', 'Figur', 'Tabell'],
  pl: ['Spis treści', 'Rysunek', 'Tabela'],
  pt: ['Índice', 'Figura', 'Tabela'],
  ro: ['Cuprins', 'Figura', 'Tabelul'],
  ru: ['Содержание', 'Рисунок', 'Таблица'],
  sk: ['Obsah', 'Obrázok', 'Tabuľka'],
  sv: ['Innehåll', 'Figur', 'Tabell'],
  tr: ['İçindekiler', 'Şekil', 'Tablo'],
  uk: ['Зміст', 'Рисунок', 'Таблиця'],
  zh: ['目录', '图', '表'],
};

const english = ['Contents', 'Figure', 'Table'] as const;

/** By the first part of a BCP 47 tag; English where the language is not known here. */
export function wordsOf(language: string): Words {
  const [contents, figure, table] = known[language.split('-')[0]?.toLowerCase() ?? ''] ?? english;
  return { contents, figure, table };
}
