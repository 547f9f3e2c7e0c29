/**
 * All settings: those of the core, and those of every feature. What a setting is, and how flags, variables and files
 * become its value, is in `platform/config/`.
 */
import {
  joinByPlace,
  type Setting,
  type SettingsEnvironment,
  type ValuesOf,
} from '../platform/config/setting.ts';
import { loadSettings, type Config, type LoadedConfig } from '../platform/config/config.ts';
import { settings as coreSettings } from '../platform/config/settings.ts';
import { codeModeSettings } from '../features/code-mode/settings.ts';
import { networkSettings } from '../features/network/settings.ts';
import { packageSettings } from '../features/packages/settings.ts';
import { scriptSettings } from '../features/scripts/settings.ts';
import { features, type OwnFeatures } from './features.ts';

type FeatureSettings = UnionToIntersection<OwnFeatures[number]['settings']>;
type UnionToIntersection<Union> = (Union extends unknown ? (given: Union) => void : never) extends (
  given: infer Intersection,
) => void
  ? Intersection
  : never;

const others = {
  ...networkSettings,
  ...packageSettings,
  ...codeModeSettings,
  ...scriptSettings,
};

/** What all settings came to. */
export interface ServerConfig extends Config, ValuesOf<typeof others>, ValuesOf<FeatureSettings> {}

export type SettingName = keyof ServerConfig;

/** In the order in which help and docs show them. */
export const allSettings = joinByPlace<Setting<unknown>>([
  coreSettings,
  ...features.map((feature) => feature.settings),
  others,
]);

export const loadConfig = (
  flags: Readonly<Record<string, string | undefined>>,
  environment?: SettingsEnvironment,
): LoadedConfig<ServerConfig> => loadSettings(allSettings, flags, environment) as LoadedConfig<ServerConfig>;
