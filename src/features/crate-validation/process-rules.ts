/** Rules of Process Run Crate: actions, the tools that they ran, and what went in and came out. */
import {
  findTargets,
  findWrongReference,
  hasValue,
  hasAnyType,
  makeRule,
  makeTypeRule,
  quoteNames,
  toValueText,
  type CrateView,
  type CrateRule,
} from './rule.ts';
import type { ViewedEntity } from './view.ts';
import { profileAddresses } from './profiles.ts';
import { isIsoDate } from './root-rules.ts';

const processProfile = 'process-run-crate';
const processActionTypes = ['CreateAction', 'ActivateAction', 'UpdateAction'];
const processToolTypes = ['SoftwareApplication', 'SoftwareSourceCode', 'ComputationalWorkflow'];

/**
 * The root has to state the profile, by its address with a version, and the profile is described. That it states those
 * which a profile includes is only recommended.
 */
export const makeProfileRule = (
  of: 'process-run-crate' | 'workflow-run-crate' | 'provenance-run-crate',
): CrateRule =>
  makeRule(
    {
      id: `${of}-stated`,
      level: 'MUST',
      profile: of,
      text: `The root MUST conform to ${profileAddresses[of]}VERSION, which is described as a CreativeWork.`,
      remedy: `Add {"@id": "${profileAddresses[of]}0.5"} to conformsTo of the root, and an entity for it.`,
    },
    (crate) => {
      if (crate.root === null || !crate.demanded.includes(of)) return [];
      const stated = crate
        .valuesOf(crate.root, 'conformsTo')
        .filter((value) => toValueText(value).startsWith(profileAddresses[of]));
      if (stated.length === 0) return [{ entity: crate.root.id, detail: 'It does not.' }];
      const isDescribed = stated.some(
        (value) => value.kind === 'reference' && hasAnyType(value.entity, ['CreativeWork', 'Profile']),
      );
      return isDescribed ? [] : [{ entity: toValueText(stated[0]!), detail: 'It is not described.' }];
    },
  );

const makeActionRule = (
  id: string,
  text: string,
  remedy: string,
  findWrong: (crate: CrateView, action: ViewedEntity) => string | boolean,
): CrateRule =>
  makeTypeRule({ id, level: 'SHOULD', profile: processProfile, text, remedy }, processActionTypes, findWrong);

const statusPattern = /^https?:\/\/schema\.org\/(?:Completed|Failed)ActionStatus$/;

const hasFailed = (crate: CrateView, action: ViewedEntity): boolean =>
  crate.valuesOf(action, 'actionStatus').some((value) => toValueText(value).endsWith('FailedActionStatus'));

/** An action that is a step of another kind, as in Provenance Run Crate, is referred to from there. */
const isMentioned = (crate: CrateView, action: ViewedEntity): boolean =>
  crate.root === null || findTargets(crate, crate.root, 'mentions').includes(action);

export const processRules: readonly CrateRule[] = [
  makeProfileRule(processProfile),
  makeTypeRule(
    {
      id: 'action-instrument',
      level: 'MUST',
      profile: processProfile,
      text: 'An action MUST have an instrument: the tool that was run, which is described.',
      remedy:
        'Set "instrument": {"@id": …}, and describe the tool as SoftwareApplication or SoftwareSourceCode.',
    },
    processActionTypes,
    (crate, action) =>
      findWrongReference(crate, action, { property: 'instrument', to: 'described', isNeeded: true }),
  ),
  makeActionRule(
    'action-instrument-type',
    'The instrument SHOULD be a SoftwareApplication, SoftwareSourceCode or ComputationalWorkflow.',
    'Correct the type of the tool, or the reference.',
    (crate, action) => {
      const tools = findTargets(crate, action, 'instrument');
      return (
        tools.some((tool) => !hasAnyType(tool, processToolTypes)) &&
        `It is ${quoteNames(tools.flatMap(({ types }) => types))}.`
      );
    },
  ),
  makeActionRule(
    'action-mentioned',
    'An action SHOULD be listed under mentions of the root.',
    'Add {"@id": …} to mentions.',
    (crate, action) => !isMentioned(crate, action),
  ),
  makeActionRule(
    'action-name',
    'An action SHOULD have a name.',
    'Add a name that says what was run.',
    (crate, action) => !hasValue(crate, action, 'name'),
  ),
  makeActionRule(
    'action-description',
    'An action SHOULD have a description, such as its command line.',
    'Add it as text.',
    (crate, action) => !hasValue(crate, action, 'description'),
  ),
  makeActionRule(
    'action-end',
    'An action SHOULD have an endTime in ISO 8601 format.',
    'Add it, such as "2024-05-17T10:00:00+00:00".',
    (crate, action) => {
      const ends = crate.valuesOf(action, 'endTime').map(toValueText);
      return ends.length === 0 || ends.some((time) => !isIsoDate(time));
    },
  ),
  makeActionRule(
    'action-agent',
    'An action SHOULD have an agent, who is a Person or an Organization.',
    'Refer to who ran it by agent.',
    (crate, action) =>
      findWrongReference(crate, action, {
        property: 'agent',
        to: ['Person', 'Organization'],
        isNeeded: true,
      }),
  ),
  makeTypeRule(
    {
      id: 'action-result',
      level: 'SHOULD',
      profile: processProfile,
      text: 'An action that created or changed something SHOULD have it as result.',
      remedy: 'Refer to the files by result; use ActivateAction if there are none.',
    },
    ['CreateAction', 'UpdateAction'],
    (crate, action) => !hasValue(crate, action, 'result') && !hasFailed(crate, action),
  ),
  makeActionRule(
    'action-things',
    'What an action took and made (object, result) SHOULD be described as File, Dataset, Collection, CreativeWork or PropertyValue.',
    'Add an entity for each, with one of these types.',
    (crate, action) =>
      ['object', 'result']
        .map((property) =>
          findWrongReference(crate, action, {
            property,
            to: [
              'File',
              'Dataset',
              'Collection',
              'CreativeWork',
              'PropertyValue',
              'MediaObject',
              ...processToolTypes,
            ],
            isNeeded: false,
          }),
        )
        .find((wrong) => wrong !== false) ?? false,
  ),
  makeActionRule(
    'action-status',
    'The actionStatus SHOULD be http://schema.org/CompletedActionStatus or http://schema.org/FailedActionStatus.',
    'Use one of the two, or leave it out for a run that succeeded.',
    (crate, action) =>
      crate.valuesOf(action, 'actionStatus').some((value) => !statusPattern.test(toValueText(value))),
  ),
  makeActionRule(
    'action-error',
    'An action SHOULD NOT have an error unless its actionStatus is FailedActionStatus.',
    'Set the actionStatus, or remove the error.',
    (crate, action) => hasValue(crate, action, 'error') && !hasFailed(crate, action),
  ),
  makeTypeRule(
    {
      id: 'tool-version',
      level: 'SHOULD',
      profile: processProfile,
      text: 'A tool SHOULD have a name, a url and one version.',
      remedy: 'Add what is missing; of version and softwareVersion use one.',
    },
    processToolTypes,
    (crate, tool) => {
      const missing = ['name', 'url'].filter((property) => !hasValue(crate, tool, property));
      const versions = ['version', 'softwareVersion'].filter((property) => hasValue(crate, tool, property));
      if (versions.length > 1) return 'It has both version and softwareVersion.';
      if (versions.length === 0) missing.push('version');
      return missing.length > 0 && `It has no ${missing.join(' and no ')}.`;
    },
  ),
  makeTypeRule(
    {
      id: 'collection',
      level: 'SHOULD',
      profile: processProfile,
      text: 'A Collection that an action took or made SHOULD have hasPart and mainEntity, and be mentioned by the root.',
      remedy: 'Add what is missing.',
    },
    ['Collection'],
    (crate, collection) => {
      const missing = ['hasPart', 'mainEntity'].filter((property) => !hasValue(crate, collection, property));
      if (!isMentioned(crate, collection)) missing.push('mention');
      return missing.length > 0 && `It has no ${missing.join(' and no ')}.`;
    },
  ),
  makeTypeRule(
    {
      id: 'container-image',
      level: 'SHOULD',
      profile: processProfile,
      text: 'A ContainerImage SHOULD have a name, a registry, and an additionalType that says of which kind it is.',
      remedy:
        'Add what is missing; the kinds are https://w3id.org/ro/terms/workflow-run#DockerImage and #SIFImage.',
    },
    ['ContainerImage'],
    (crate, image) => {
      const missing = ['name', 'registry', 'additionalType'].filter(
        (property) => !hasValue(crate, image, property),
      );
      return missing.length > 0 && `It has no ${missing.join(' and no ')}.`;
    },
  ),
];
