/** The text that a new document starts from: it has one of each thing that is needed first. */
export const exampleDocument = `---
title: The pendulum
author: Your name
lang: en
---

# A law for small angles

The time of a swing depends on the length $l$ of the pendulum, and not on its weight [@huygens1673]:

$$T = 2\\pi\\sqrt{l/g}$$

| Length (m) | Time (s) |
|-----------:|---------:|
|       0.25 |     1.00 |
|       1.00 |     2.01 |
|       4.00 |     4.01 |

: What the law says. {#tbl-law}

For larger angles the time grows.[^1] A picture of your files goes in by its name:
\`![Three angles](pendulum.png)\`.

[^1]: At 90 degrees by 18 per cent.

# References
`;

export const exampleBibliography = `@book{huygens1673,
  author = {Huygens, Christiaan},
  title  = {Horologium oscillatorium},
  year   = {1673},
  publisher = {Muguet}
}
`;
