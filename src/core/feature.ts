/**
 * The contract of a feature: what it brings, as data, and one function that opens it. `server/features.ts` lists all
 * features, and `server/` loops over that list: it knows none of them by name. What a feature says here is light, since
 * every command reads the list; what costs time to load is imported inside the functions.
 */
import type { Hono } from 'hono';
import type { Artifacts } from './artifacts/artifacts.ts';
import type { CommandLinePart } from './command.ts';
import type { NoteRequest } from './audit/audit.ts';
import type { Clock } from '../platform/clock.ts';
import type { SettingList, ValuesOf } from '../platform/config/setting.ts';
import type { Executions, OutputBounds } from './runs/executions.ts';
import type { RunProgram } from './runs/run-program.ts';
import type { Surroundings } from './runs/surroundings.ts';
import type { Files } from './files/files.ts';
import type { Caller } from './identity.ts';
import type { DeclaredExtension } from './offer/extension.ts';
import type { DeclaredPrompt } from './offer/prompt.ts';
import type { DeclaredResources } from './offer/resource.ts';
import type { DeclaredTool, ToolGroup } from './offer/tool.ts';
import type { Toolbox } from './offer/toolbox.ts';
import type { Log } from '../platform/observability/log.ts';

/** What the settings of the core mean for the tools of every feature. */
export interface Terms {
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** After how long a call that lasts is answered where its client cannot wait; null: never. */
  readonly detachMs: number | null;
  readonly outputBounds: OutputBounds;
  /** Whether the settings let runs have a network. */
  readonly mayHaveNetwork: boolean;
  /** In seconds, as the next. */
  readonly fileTtl: number;
  readonly maxTtl: number;
}

/** What is known before anything is open. */
export interface Known<Settings extends SettingList> {
  readonly settings: ValuesOf<Settings>;
  readonly terms: Terms;
  /** What code finds where it runs; null where that is not known. */
  readonly surroundings: Surroundings | null;
}

/** What clients are told of a feature, and how it answers once its room is open. */
export interface Declared<Room> {
  readonly tools?: readonly DeclaredTool<Room>[];
  readonly resources?: readonly DeclaredResources<Room>[];
  readonly prompts?: readonly DeclaredPrompt<Room>[];
  readonly extensions?: readonly DeclaredExtension<Room>[];
}

/** What every feature is given when it opens. */
export interface Core {
  readonly terms: Terms;
  /** All tools of callers; it has tools once every feature is open. */
  readonly toolbox: Toolbox;
  /** Whether the tools of a group are offered here. */
  readonly offersGroup: (group: ToolGroup) => boolean;
  readonly files: Files;
  readonly executions: Executions;
  /** Programs of the server's own that have to run behind walls. */
  readonly runProgram: RunProgram;
  readonly artifacts: Artifacts;
  readonly folders: CoreFolders;
  readonly clock: Clock;
  readonly log: Log;
}

/** Folders of this machine; null where the settings name none. */
export interface CoreFolders {
  readonly data: string;
  /** What runs see as /tools. */
  readonly tools: string | null;
  /** What runs see as /skills. */
  readonly skills: string | null;
}

/** A feature that is open. It is closed in the reverse order of opening. */
export interface OpenFeature<Room> extends Partial<AsyncDisposable> {
  /** What its tools, resources and prompts work on. */
  readonly room: Room;
  /** Its routes over HTTP. */
  routes?(web: Web): Hono;
  /** Deletes what has expired; called every so often. */
  sweep?(): Promise<unknown>;
}

/** What routes are made with. */
export interface Web {
  /** Who made a request, by what the framework knows of it. */
  readonly callerOf: (env: unknown) => Caller;
  /** Writes a line of the audit log for a request. */
  readonly noted: NoteRequest;
  readonly log: Log;
}

export interface Feature<
  Settings extends SettingList = SettingList,
  Room = unknown,
> extends CommandLinePart<Settings> {
  /** What clients are told of it with these settings. A feature without it is no part of a server. */
  declare?(known: Known<Settings>): Promise<Declared<Room>>;
  open?(core: Core, settings: ValuesOf<Settings>): Promise<OpenFeature<Room>>;
}

/** Gives the functions their types from the settings. */
export const defineFeature = <const Settings extends SettingList, Room>(
  feature: Feature<Settings, Room>,
): Feature<Settings, Room> => feature;
