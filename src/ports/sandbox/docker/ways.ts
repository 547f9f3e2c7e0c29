import { openGate, type Gate, type GatePass, type ToolsPass } from '../gate.ts';
import { makeToolFolder, type ToolFolder } from '../tool-files.ts';
import type { ContainerPurpose } from './container.ts';

/** What a container has of the server: its socket, the pass for its network, and what its run has of tools. */
export interface ContainerWays extends AsyncDisposable {
  /** Its own, since its code can reach it: another container must not suffer from what is done to it. */
  readonly gate: Gate | null;
  readonly pass: GatePass | null;
  readonly tools: { readonly folder: ToolFolder; readonly pass: ToolsPass } | null;
}

/** Only what it is made for. */
export async function openWays({ place, isGated, tools = null }: ContainerPurpose): Promise<ContainerWays> {
  await using opened = new AsyncDisposableStack();
  const calls = place === null ? null : tools;
  const gate = isGated || calls !== null ? opened.use(await openGate('hostile')) : null;
  const folder = calls === null ? null : opened.use(await makeToolFolder(place!, calls));
  const shown = folder && { folder, pass: gate!.makeToolsPass(calls!) };
  const pass = isGated ? gate!.makePass() : null;
  const kept = opened.move();
  return { gate, pass, tools: shown, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
