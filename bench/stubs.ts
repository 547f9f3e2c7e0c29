/**
 * What a model reads of a tool that code can call, in tokens, and how long the functions take to make: of the tools of
 * real MCP servers (bench/tool-servers). All of them have to compile, import and type-check, and none may cost more
 * than it should.
 *
 *   node bench/stubs.ts
 */
import { checkStubs } from '../src/features/code-mode/stubs/definitions.testing.ts';
import { maxStubTokens } from '../src/features/code-mode/stubs/detail.ts';
import { createStubCache, generateStubs, listStubEntries } from '../src/features/code-mode/stubs/stubs.ts';
import { countTokens } from '../test/tokens.testing.ts';
import { temporaryFolder } from './program.ts';
import { readDefinitions } from './tool-servers/read-definitions.ts';

const { tools, failures } = await readDefinitions();
for (const { server, reason } of failures) console.log(`${server} could not be asked: ${reason}`);
const whole = tools.map(({ name, description, inputSchema, outputSchema }) =>
  countTokens(JSON.stringify({ name, description, inputSchema, outputSchema })),
);
const { python, node } = listStubEntries(tools);
const kinds = { definition: whole, '.pyi': python.map(countTokens), '.d.ts': node.map(countTokens) };
const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
console.table(
  Object.entries(kinds).map(([kind, counts]) => {
    const sorted = counts.toSorted((one, other) => one - other);
    const sum = counts.reduce((one, other) => one + other, 0);
    return {
      kind,
      tools: counts.length,
      'all tokens': sum,
      median: at(sorted, 0.5),
      p90: at(sorted, 0.9),
      [`most (at most ${maxStubTokens})`]: at(sorted, 1),
    };
  }),
);
const isOpen = (entry: string): boolean => /\*\*_more|\[name: string\]/.test(entry);
console.log(
  `Not all arguments named: ${python.filter(isOpen).length} in .pyi, ${node.filter(isOpen).length} in .d.ts`,
);

const generate = createStubCache();
const time = (work: () => unknown): number => {
  const began = performance.now();
  work();
  return performance.now() - began;
};
const [first, again] = [time(() => generate(tools)), time(() => generate(tools))];
console.log(
  `Made in ${first.toFixed(0)} ms, ${(first / tools.length).toFixed(2)} ms a tool; again in ${again.toFixed(1)} ms`,
);

using folder = temporaryFolder();
checkStubs(folder.path, generateStubs(tools));
console.log(`${tools.length} of ${tools.length} compile, import and type-check`);
const tooLong = [...kinds['.pyi'], ...kinds['.d.ts']].filter((count) => count > maxStubTokens).length;
if (tooLong > 0) throw new Error(`${tooLong} entries have more than ${maxStubTokens} tokens.`);
