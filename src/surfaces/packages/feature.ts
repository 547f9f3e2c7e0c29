/** `workcrate/feature`: what a feature in a package of its own says of itself. Every command loads this. */
export {
  makeKeyFlag,
  serverFlag,
  type CommandInput,
  type KnownConfig,
  type ReachableServer,
} from '../../core/command.ts';
export { defineFeature, type Core, type OpenFeature, type SettingsOf } from '../../core/feature.ts';
export { optionalBaseUrl, optionalText, seconds } from '../../platform/config/kinds.ts';
export { defineSetting } from '../../platform/config/setting.ts';
