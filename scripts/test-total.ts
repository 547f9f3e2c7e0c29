import { describeResults, recordVariable, sumResults } from './test-results.ts';

/** Ends `.ci/run`: what failed in either part, and the counts of both together as the last line. */
const results = sumResults(process.env[recordVariable]!);
process.stdout.write(describeResults(results));
process.exitCode = results.failed > 0 ? 1 : 0;
