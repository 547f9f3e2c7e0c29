/** The rows of the specification that are built, and must each be proven by a test that cites its id. */
export const built = ['C1', 'C2', 'C3', 'C4', 'C5', 'C6', 'C7', 'C8', 'C9', 'C10', 'E4'];

const row = (letter: string, from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `${letter}${from + at}`);

/** The rows that have not been asked for yet. */
export const notYetAskedFor = [
  ...row('A', 1, 13),
  ...row('B', 1, 12),
  ...row('C', 11, 13),
  ...row('D', 1, 16),
  ...row('E', 1, 3),
  ...row('E', 5, 10),
  ...row('F', 1, 5),
];
