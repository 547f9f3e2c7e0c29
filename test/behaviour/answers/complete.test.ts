import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { StreamableHTTPClientTransport, type ToolAnnotations } from '@modelcontextprotocol/client';
import { connectBy } from '../client-files/clients.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { showAudit } from './audit.testing.ts';
import { showClientFiles } from './client-files.testing.ts';
import { listUnsaid } from './complete.testing.ts';
import { showCrates } from './crates.testing.ts';
import { showDiscovery } from './discovery.testing.ts';
import { showDocuments } from './documents.testing.ts';
import { listFacts, listShowable, toShown, type JsonSchema } from './facts.testing.ts';
import { showArtifacts, showFiles } from './files.testing.ts';
import { showGuard } from './guard.testing.ts';
import { showPackages } from './packages.testing.ts';
import { showRuns } from './runs.testing.ts';
import { showScripts } from './scripts.testing.ts';
import { showSessions } from './sessions.testing.ts';
import { showSharedMachine } from './shared-machine.testing.ts';
import { showSkills } from './skills.testing.ts';
import { openStage, withoutChance, type Recorded, type Stage } from './stage.testing.ts';
import { cannotBeShown } from './wordings.testing.ts';

describe('the text of an answer', { skip: noSandbox }, () => {
  let stage: Stage;
  let schemas: ReadonlyMap<string, JsonSchema>;
  before(async () => {
    stage = await openStage({ sandbox: 'bubblewrap' });
    await Promise.all([showCode(stage), showDocuments(stage), showClient(stage), showSkills(stage)]);
    await showDiscovery(stage);
    await showAudit(stage);
    const { tools } = await stage.client.listTools();
    schemas = new Map(tools.map(({ name, outputSchema }) => [name, outputSchema as JsonSchema]));
  });
  after(() => stage?.[Symbol.asyncDispose]());

  const answersOf = (tool: string): Recorded[] =>
    stage.recorded.filter((one) => one.tool === tool && one.result.isError !== true);

  it('every tool shows everything that its schema can show', () => {
    const unshown = [...schemas].flatMap(([tool, schema]) => {
      const shown = new Set(
        toolsOfOneAnswer(tool)
          .flatMap(answersOf)
          .flatMap(({ result }) => [...listFacts(schema, result.structuredContent)].flatMap(toShown)),
      );
      return listShowable(schema)
        .filter((fact) => !shown.has(fact) && !isOutOfReach(tool, fact))
        .map((fact) => `${tool}: ${fact}`);
    });
    assert.deepEqual(unshown, []);
  });

  it('says every fact of the typed value', () => {
    const unsaid: Record<string, string> = {};
    for (const [tool, schema] of schemas)
      for (const { result } of answersOf(tool)) {
        const answer = { tool, structured: result.structuredContent!, text: readText(result) };
        for (const { path, value } of listUnsaid(schema, answer)) {
          unsaid[`${tool}: ${path}`] = JSON.stringify(value).slice(0, 60);
        }
      }
    assert.deepEqual(unsaid, {});
    recordProof('C1:every-fact-in-the-text');
  });

  it('is the same where nobody asks for structured content, and pictures are there too', async () => {
    const { tools } = await stage.client.listTools();
    await using plain = await connectPlain(stage);
    const ask = async (one: Recorded | undefined) => {
      const call = { name: one!.tool, arguments: one!.input };
      return { with: await stage.client.callTool(call), without: await plain.client.callTool(call) };
    };
    for (const { name } of tools.filter(isReading)) {
      const { with: typed, without } = await ask(answersOf(name).at(-1));
      assert.equal(withoutChance(readText(without)), withoutChance(readText(typed)), name);
      assert.ok(!('structuredContent' in without), name);
    }
    const { without } = await ask(
      answersOf('get_artifact').find(({ input }) => input['name'] === 'plot.png'),
    );
    assert.deepEqual(
      without.content.map(({ type }) => type),
      ['text', 'image'],
    );
  });

  it('has no value that was written by mistake', () => {
    for (const { tool, result } of stage.recorded)
      assert.doesNotMatch(readText(result), /\bundefined\b|\bNaN\b|\[object \w+\]|Invalid Date/, tool);
  });

  it('of every tool there is an error that says what is wrong, with its code for programs', () => {
    for (const tool of schemas.keys()) {
      const errors = stage.recorded.filter((one) => one.tool === tool && one.result.isError === true);
      assert.ok(errors.length > 0, `${tool}: no outcome is an error`);
      for (const { result } of errors) {
        const text = readText(result);
        const error = result._meta?.['workcrate/error'] as { code: string } | undefined;
        // The SDK refuses what does not fit the schema, before any code of ours.
        if (!text.startsWith('Input validation error')) assert.match(error?.code ?? '', /^[a-z_]+$/, text);
        assert.match(text, /\w+\W+\w+\W+\w+/, tool);
        assert.equal(result.structuredContent, undefined, tool);
      }
    }
  });
});

/** Artifacts are left by runs, and runs are packed. */
async function showCode(stage: Stage): Promise<void> {
  await showGuard(stage);
  await showFiles(stage);
  await showSessions(stage);
  await showScripts(stage);
  await showPackages(stage);
  await showRuns(stage);
  await showArtifacts(stage);
  await showCrates(stage);
}

async function showClient(stage: Stage): Promise<void> {
  await showClientFiles(stage);
  await showSharedMachine(stage);
}

const readText = ({ content }: Recorded['result']): string => (content[0] as { text: string }).text;

const isReading = ({ annotations }: { annotations?: ToolAnnotations | undefined }): boolean =>
  annotations?.readOnlyHint === true;

const connectPlain = ({ server }: Stage) =>
  connectBy(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)), {
    version: '2025-11-25',
    capabilities: {},
    manners: {},
  });

/** All run tools answer with the same schema, by the same function. */
const toolsOfOneAnswer = (tool: string): string[] => (runTools.includes(tool) ? runTools : [tool]);

const runTools = ['execute_code', 'execute_bash', 'send_to_session', 'run_script'];

const isOutOfReach = (tool: string, fact: string): boolean =>
  Object.keys(cannotBeShown[tool] ?? {}).some((start) => fact.startsWith(start));
