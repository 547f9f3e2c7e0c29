const words =
  'The method was applied to every sample of the archive, and the residuals were compared with those of an independent reading of the same instruments. Where both agreed to within the stated uncertainty, nothing further was done; where they did not, the raw series were looked through by hand. ';

const entries = 100;

/**
 * Sections of prose that cites, maths, a table, code and a footnote, each about a page and a half, and behind them the
 * references, which take four. All of them are cited.
 */
export function manuscript(sections: number): string {
  const each = Math.max(2, Math.ceil(entries / (sections * 4)));
  const head =
    '---\ntitle: A study of things\nauthor: [Ada Byron, Carl Friedrich]\nabstract: It is *short*.\n---\n';
  return head + Array.from({ length: sections }, (_, at) => section(at, each)).join('\n');
}

function section(at: number, each: number): string {
  const paragraph = (part: number): string => {
    const cited = Array.from({ length: each }, (_, one) => `@ref${((at * 4 + part) * each + one) % entries}`);
    return `${words}As shown by [${cited.join('; ')}, p. 3] and $x_${part}^2 + \\alpha = \\frac{1}{n}\\sum_i y_i$. ${words}`;
  };
  const rows = Array.from({ length: 8 }, (_, row) => `| row ${row} | ${(row * 3.14).toFixed(2)} | *x* |`);
  return (
    [
      `# Section ${at + 1}`,
      ...[0, 1, 2, 3].map(paragraph),
      String.raw`$$ \int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2} $$`,
      ['| a | b | c |', '|---|--:|:-:|', ...rows].join('\n'),
      `: Table ${at}`,
      '```python\nfor i in range(10):\n    print(i ** 2)  # squares\n```',
      `A note.[^n${at}]`,
      `[^n${at}]: The text of note ${at}.`,
    ].join('\n\n') + '\n'
  );
}

export const bibliography = Array.from(
  { length: entries },
  (_, at) => `@article{ref${at},
  author = {Author${at}, Anna and Writer, Bob ${String.fromCodePoint(65 + (at % 26))}.},
  title = {On the matter of ${at} things and their {DNA}},
  journal = {Journal of Things}, year = {${1950 + (at % 70)}},
  volume = {${at}}, pages = {${at}--${at + 9}}, doi = {10.1000/${at}}
}
`,
).join('\n');
