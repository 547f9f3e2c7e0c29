/**
 * The contract of a feature: what it brings, as data, and one function that opens it. `server/features.ts` lists all
 * features, and `server/` loops over that list: it knows none of them by name. What a feature says here is light, since
 * every command reads the list; what costs time to load is imported inside the functions.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Hono } from 'hono';
import type { Artifacts } from './artifacts/artifacts.ts';
import type { CommandLinePart } from './command.ts';
import type { Audit, NoteRequest } from './audit/audit.ts';
import type { Clock } from '../platform/clock.ts';
import type { Config } from '../platform/config/config.ts';
import type { SettingList, ValuesOf } from '../platform/config/setting.ts';
import type { Database } from '../ports/database/database.ts';
import type { Executions, OutputBounds } from './runs/executions.ts';
import type { RunExtension, RunRecordPart } from './runs/extension.ts';
import type { RunRecord } from './runs/executions.ts';
import type { RunProgram } from './runs/run-program.ts';
import type { Sessions } from './runs/sessions/sessions.ts';
import type { Surroundings } from './runs/surroundings.ts';
import type { ClientFilePort, FindCrateFiles } from './runs/tools.ts';
import type { Files } from './files/files.ts';
import type { Caller } from './identity.ts';
import type { ExternalTargets, Links, Uploads, Webhook } from './links/links.ts';
import type { DeclaredExtension } from './offer/extension.ts';
import type { CallJudge } from './offer/judge.ts';
import type { DeclaredPrompt } from './offer/prompt.ts';
import type { DeclaredResources } from './offer/resource.ts';
import type { DeclaredTool, ToolGroup } from './offer/tool.ts';
import type { Toolbox } from './offer/toolbox.ts';
import type { Log } from '../platform/observability/log.ts';
import type { ReferenceLibrary } from './reference-library.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { Workspaces } from './workspaces/workspaces.ts';

/** What the settings of the core mean for the tools of every feature. */
export interface Terms {
  /** The record of runs, with what features add to it. */
  readonly record: RunRecord;
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

/** The settings of the core and of a feature: no feature sees those of another that it does not need. */
export type SettingsOf<Settings extends SettingList> = Config & ValuesOf<Settings>;

/** Other features that one works with, by the names that it has for them. They are before it in the list. */
export type NeededFeatures = Readonly<Record<string, Feature>>;

/** The settings of a feature with those of the features that it needs. */
export type SettingsWith<Settings extends SettingList, Needs extends NeededFeatures> = SettingsOf<Settings> &
  Intersect<ValuesOf<Needs[keyof Needs]['settings']>>;

type Intersect<Union> = (Union extends unknown ? (given: Union) => void : never) extends (
  given: infer All,
) => void
  ? All
  : never;

/** The rooms of needed features. */
export type RoomsOf<Needs extends NeededFeatures> = {
  readonly [Name in keyof Needs]: Needs[Name] extends Feature<SettingList, infer Room> ? Room : never;
};

/** What is known before anything is open. */
export interface Known<Settings> {
  readonly settings: Settings;
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
  readonly sessions: Sessions;
  readonly links: Links;
  readonly uploads: Uploads;
  /** To be called for every document that was made of what users sent. */
  readonly exported: Webhook['exported'];
  readonly places: Workspaces;
  /** What documents cite from; null where no feature brings it. */
  readonly library: () => ReferenceLibrary | null;
  readonly database: Database;
  readonly audit: Audit;
  readonly folders: CoreFolders;
  /** The address that links name, once it is known. */
  readonly baseUrl: () => string;
  /** Whether the client runs on this machine under the same user, as over stdio. */
  readonly sharesMachine: boolean;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

/** What the core can do once a feature brings it. The core asks for it when it is needed, not before all are open. */
export interface Brought {
  /** Downloads of what is no stored file. */
  readonly externalTargets: ExternalTargets;
  /** What documents cite from. */
  readonly library: ReferenceLibrary;
  /** Files of crates, for runs. */
  readonly crateFiles: FindCrateFiles;
  /** Files of the client, for runs. */
  readonly clientFiles: ClientFilePort;
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
  readonly brings?: Partial<Brought>;
  /** Its routes over HTTP. */
  routes?(web: Web): Hono;
  /** What answers `/NAME/{token}`, where the token is the right to use it. `surfaces/http/requests.ts` has the names. */
  readonly tokenRoutes?: Readonly<Record<string, TokenRoute>>;
  /** Deletes what has expired; called every so often. */
  sweep?(): Promise<unknown>;
  /** Called once the server listens: what may begin by itself begins now. It is closed with the feature. */
  listening?(): void;
}

export interface TokenRoute {
  /** What the audit log calls a request with a token that opens nothing. */
  readonly auditedAs: string;
  handle(req: IncomingMessage, res: ServerResponse, token: string): Promise<void>;
}

/** Judges calls, answers and runs. It is opened before anything can run, and closed after all that runs has ended. */
export interface OpenJudge extends AsyncDisposable {
  readonly calls: CallJudge;
  readonly runs: RunExtension;
}

/** What judges are made of. */
export interface JudgeRooms {
  readonly audit: Audit;
  readonly files: Files;
  readonly log: Log;
}

/** What routes are made with. */
export interface Web {
  /** Who made a request, by what the framework knows of it. */
  readonly callerOf: (env: unknown) => Caller;
  /** Writes a line of the audit log for a request. */
  readonly noted: NoteRequest;
  readonly log: Log;
}

/** What a feature says of itself. */
export interface FeatureDefinition<
  Settings extends SettingList,
  Room,
  Needs extends NeededFeatures,
> extends CommandLinePart<Settings> {
  /** Its functions get their settings too, and their rooms. */
  readonly needs?: Needs;
  /** Throws where these settings keep a server from starting. It opens and changes nothing. */
  check?(settings: SettingsWith<Settings, Needs>): unknown;
  /** What clients are told of it with these settings. A feature without it is no part of a server. */
  declare?(known: Known<SettingsWith<Settings, Needs>>): Promise<Declared<NoInfer<Room>>>;
  /** What documents cite from with these settings, for a command that builds one without a server. */
  openLibrary?(
    settings: SettingsWith<Settings, Needs>,
    around: Pick<Core, 'clock' | 'log'>,
  ): Promise<ReferenceLibrary | null>;
  open?(
    core: Core,
    settings: SettingsWith<Settings, Needs>,
    needed: RoomsOf<Needs>,
  ): Promise<OpenFeature<Room>>;
  /** What it adds to the record of runs. */
  record?(): Promise<RunRecordPart>;
  readonly judge?: JudgeOfFeature<SettingsWith<Settings, Needs>>;
}

/** A judge, where the settings ask for one: then nothing is told before it is open. */
export interface JudgeOfFeature<Settings> {
  isWanted(settings: Settings): boolean;
  open(rooms: JudgeRooms, settings: Settings): Promise<OpenJudge>;
}

/** A feature as the list has it: what it is given is typed by its definition alone. */
export interface Feature<
  Settings extends SettingList = SettingList,
  Room = unknown,
> extends CommandLinePart<Settings> {
  readonly needs?: NeededFeatures;
  check?(settings: Config): unknown;
  declare?(known: Known<Config>): Promise<Declared<unknown>>;
  openLibrary?(settings: Config, around: Pick<Core, 'clock' | 'log'>): Promise<ReferenceLibrary | null>;
  open?(core: Core, settings: Config, needed: Readonly<Record<string, unknown>>): Promise<OpenFeature<Room>>;
  /** What it adds to the record of runs. */
  record?(): Promise<RunRecordPart>;
  readonly judge?: JudgeOfFeature<Config>;
}

/** Gives the functions their types from the settings and from what is needed. */
export const defineFeature = <
  const Settings extends SettingList,
  Room,
  // oxlint-disable-next-line no-generated-empty-object-type -- most features need no other
  const Needs extends NeededFeatures = Record<never, never>,
>(
  definition: FeatureDefinition<Settings, Room, Needs>,
): Feature<Settings, Room> => definition as unknown as Feature<Settings, Room>;
