const row = (letter: string, from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `${letter}${from + at}`);

/** The rows of the specification that are built, and must each be proven by a test that cites its id. */
export const built = [
  ...row('A', 1, 11),
  'A13',
  ...row('B', 1, 12),
  ...row('C', 1, 13),
  ...row('D', 1, 10),
  ...row('D', 14, 16),
  ...row('E', 1, 10),
];

/** The rows that have not been asked for yet. */
export const notYetAskedFor = [
  'A12',
  'B13',
  'B14',
  'C14',
  ...row('D', 11, 13),
  ...row('D', 17, 21),
  ...row('F', 1, 7),
  ...row('G', 1, 5),
  ...row('H', 1, 4),
];
