import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { syscalls } from './syscalls.ts';

/** Younger than the headers of some distributions. */
const recent = new Set(['fchmodat2', 'map_shadow_stack', 'open_tree_attr']);

for (const [column, machine, header] of [
  [0, 'x86_64', '/usr/include/x86_64-linux-gnu/asm/unistd_64.h'],
  [1, 'aarch64', '/usr/include/asm-generic/unistd.h'],
] as const) {
  const skip = existsSync(header) ? false : `no kernel header ${header} here`;
  test(`the numbers of ${machine} are those of the kernel's header`, { skip }, () => {
    const defined = new Map(
      [...readFileSync(header, 'utf8').matchAll(/^#define __NR(?:3264)?_(\w+)[ \t]+(\d+)$/gm)].map(
        ([, name, number]) => [name === 'fstatat' ? 'newfstatat' : name, Number(number)],
      ),
    );
    for (const [name, numbers] of Object.entries(syscalls)) {
      if (recent.has(name) && !defined.has(name)) continue;
      assert.equal(numbers[column], defined.get(name) ?? null, name);
    }
  });
}
