import assert from 'node:assert/strict';
import { test } from 'node:test';
import { colours } from './style.ts';

/** The relative luminance of WCAG 2.2. */
function getLuminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function getContrast(one: string, other: string): number {
  const [darker, lighter] = [getLuminance(one), getLuminance(other)].toSorted((a, b) => a - b);
  return (lighter! + 0.05) / (darker! + 0.05);
}

for (const [scheme, set] of Object.entries(colours))
  test(`text has the contrast of WCAG AA in ${scheme}`, () => {
    const grounds = [set.ground, set.surface, set.code];
    const inks = [set.ink, set.muted, set.accent, set.warning, set.danger, set.keyword];
    for (const ground of grounds)
      for (const ink of inks)
        assert.ok(getContrast(ink, ground) >= 4.5, `${ink} on ${ground}: ${getContrast(ink, ground)}`);
    assert.ok(getContrast(set['on-accent'], set.accent) >= 4.5);
  });
