/** Rules of Provenance Run Crate: the steps of a workflow, the tools behind them, and the actions of each. */
import {
  findTargets,
  findWrongReference,
  hasValue,
  hasAnyType,
  makeRule,
  makeTypeRule,
  nameEntity,
  toValueText,
  type CrateView,
  type ReferenceDemand,
  type CrateRule,
  type RuleLevel,
  type Violation,
} from './rule.ts';
import type { ViewedEntity } from './view.ts';
import { makeProfileRule } from './process-rules.ts';

const provenanceProfile = 'provenance-run-crate';
const toolTypes = ['SoftwareApplication', 'SoftwareSourceCode', 'ComputationalWorkflow'];
const provenanceActionTypes = ['CreateAction', 'ActivateAction', 'UpdateAction'];

interface ProvenanceCheck extends ReferenceDemand {
  readonly id: string;
  readonly of: string;
  readonly text: string;
  readonly remedy: string;
}

const makeReferenceRule = ({ id, of, text, remedy, ...demand }: ProvenanceCheck): CrateRule =>
  makeTypeRule({ id, level: 'MUST', profile: provenanceProfile, text, remedy }, [of], (crate, entity) =>
    findWrongReference(crate, entity, demand),
  );

/** What each kind of entity refers to. */
const referenceDemands: readonly ProvenanceCheck[] = [
  {
    id: 'workflow-tools',
    of: 'ComputationalWorkflow',
    property: 'hasPart',
    to: toolTypes,
    isNeeded: true,
    text: 'A workflow MUST refer by hasPart to the tools that it orchestrates.',
    remedy: 'Add the tools to hasPart of the workflow.',
  },
  {
    id: 'step-tool',
    of: 'HowToStep',
    property: 'workExample',
    to: toolTypes,
    isNeeded: true,
    text: 'A HowToStep MUST refer by workExample to the tool that implements it.',
    remedy: 'Add the reference to the tool or workflow.',
  },
  {
    id: 'step-connection',
    of: 'HowToStep',
    property: 'connection',
    to: ['ParameterConnection'],
    isNeeded: false,
    text: 'The connection of a HowToStep MUST be a ParameterConnection.',
    remedy: 'Describe the connection with that type.',
  },
  {
    id: 'workflow-connection',
    of: 'ComputationalWorkflow',
    property: 'connection',
    to: ['ParameterConnection'],
    isNeeded: false,
    text: 'The connection of a workflow MUST be a ParameterConnection.',
    remedy: 'Describe the connection with that type.',
  },
  {
    id: 'connection-source',
    of: 'ParameterConnection',
    property: 'sourceParameter',
    to: ['FormalParameter'],
    isNeeded: true,
    text: 'A ParameterConnection MUST have a sourceParameter, which is a FormalParameter.',
    remedy: 'Refer to the parameter that the value comes from.',
  },
  {
    id: 'connection-target',
    of: 'ParameterConnection',
    property: 'targetParameter',
    to: ['FormalParameter'],
    isNeeded: true,
    text: 'A ParameterConnection MUST have a targetParameter, which is a FormalParameter.',
    remedy: 'Refer to the parameter that the value goes to.',
  },
  {
    id: 'control-step',
    of: 'ControlAction',
    property: 'instrument',
    to: ['HowToStep'],
    isNeeded: true,
    text: 'A ControlAction MUST have the HowToStep that was run as instrument.',
    remedy: 'Refer to the step by instrument.',
  },
  {
    id: 'control-object',
    of: 'ControlAction',
    property: 'object',
    to: provenanceActionTypes,
    isNeeded: true,
    text: 'A ControlAction MUST have the actions of its tools as object.',
    remedy: 'Refer to the CreateAction entities by object.',
  },
  {
    id: 'organize-engine',
    of: 'OrganizeAction',
    property: 'instrument',
    to: 'described',
    isNeeded: true,
    text: 'An OrganizeAction MUST have the workflow engine as instrument.',
    remedy: 'Refer to the engine by instrument, and describe it, such as a SoftwareApplication.',
  },
  {
    id: 'organize-result',
    of: 'OrganizeAction',
    property: 'result',
    to: provenanceActionTypes,
    isNeeded: true,
    text: 'An OrganizeAction MUST have the run of the workflow as result.',
    remedy: 'Refer to the CreateAction of the workflow by result.',
  },
];

const makeStepRule = (
  id: string,
  level: RuleLevel,
  text: string,
  remedy: string,
  find: (crate: CrateView) => Iterable<Violation>,
): CrateRule => makeRule({ id, level, profile: provenanceProfile, text, remedy }, find);

/** The tools that workflows orchestrate. */
const collectTools = (crate: CrateView): Set<ViewedEntity> =>
  new Set(
    crate.ofType('ComputationalWorkflow').flatMap((workflow) => findTargets(crate, workflow, 'hasPart')),
  );

function* findUnstepped(crate: CrateView): Iterable<Violation> {
  const steps = new Set(
    crate.ofType('ComputationalWorkflow').flatMap((workflow) => findTargets(crate, workflow, 'step')),
  );
  for (const step of crate.ofType('HowToStep')) if (!steps.has(step)) yield { entity: nameEntity(step) };
}

function* findWrongToolParameters(crate: CrateView): Iterable<Violation> {
  for (const tool of collectTools(crate))
    for (const property of ['input', 'output']) {
      const wrong = findWrongReference(crate, tool, { property, to: ['FormalParameter'], isNeeded: false });
      if (wrong !== false) yield { entity: nameEntity(tool), detail: wrong };
    }
}

function* findToolsWithoutRun(crate: CrateView): Iterable<Violation> {
  const actions = provenanceActionTypes.flatMap((type) => crate.ofType(type));
  const run = new Set(actions.flatMap((action) => findTargets(crate, action, 'instrument')));
  for (const tool of collectTools(crate)) if (!run.has(tool)) yield { entity: nameEntity(tool) };
}

function* findWrongUsage(crate: CrateView): Iterable<Violation> {
  for (const action of provenanceActionTypes.flatMap((type) => crate.ofType(type))) {
    const demand = { property: 'resourceUsage', to: ['PropertyValue'], isNeeded: false };
    const wrong = findWrongReference(crate, action, demand);
    if (wrong !== false) yield { entity: nameEntity(action), detail: wrong };
    for (const usage of findTargets(crate, action, 'resourceUsage'))
      if (!hasValue(crate, usage, 'propertyID'))
        yield { entity: nameEntity(usage), detail: 'It has no propertyID.' };
  }
}

export const provenanceRules: readonly CrateRule[] = [
  makeProfileRule(provenanceProfile),
  ...referenceDemands.map(makeReferenceRule),
  makeTypeRule(
    {
      id: 'organize-object',
      level: 'MUST',
      profile: provenanceProfile,
      text: 'An OrganizeAction MUST have the ControlAction entities of the steps as object.',
      remedy: 'Refer to them by object.',
    },
    ['OrganizeAction'],
    (crate, action) =>
      !findTargets(crate, action, 'object').some((one) => hasAnyType(one, ['ControlAction'])),
  ),
  makeTypeRule(
    {
      id: 'workflow-howto',
      level: 'MUST',
      profile: provenanceProfile,
      text: 'A workflow with steps MUST also be a HowTo, and its steps HowToStep entities.',
      remedy: 'Add HowTo to its types, and describe each step as a HowToStep.',
    },
    ['ComputationalWorkflow'],
    (crate, workflow) => {
      if (!hasValue(crate, workflow, 'step')) return false;
      if (!hasAnyType(workflow, ['HowTo'])) return 'It is no HowTo.';
      return findWrongReference(crate, workflow, { property: 'step', to: ['HowToStep'], isNeeded: false });
    },
  ),
  makeStepRule(
    'step-of-workflow',
    'MUST',
    'A workflow MUST refer to its HowToStep entities by step.',
    'Add the step to step of its workflow.',
    findUnstepped,
  ),
  makeTypeRule(
    {
      id: 'step-position',
      level: 'MUST',
      profile: provenanceProfile,
      text: 'The position of a HowToStep MUST be a whole number.',
      remedy: 'Write it as a number, or as text with digits alone.',
    },
    ['HowToStep'],
    (crate, step) =>
      crate.valuesOf(step, 'position').some((value) => !/^-?\d+$/.test(toValueText(value).trim())),
  ),
  makeStepRule(
    'tool-parameters',
    'MUST',
    'The input and output of a tool MUST refer to FormalParameter entities.',
    'Describe each parameter as a FormalParameter.',
    findWrongToolParameters,
  ),
  makeStepRule(
    'tool-run',
    'SHOULD',
    'The run of a tool that a workflow orchestrates SHOULD be described by an action with the tool as instrument.',
    'Add the action, unless the tool was not run.',
    findToolsWithoutRun,
  ),
  makeStepRule(
    'resource-usage',
    'MUST',
    'The resourceUsage of an action MUST be PropertyValue entities, each with a propertyID.',
    'Add the propertyID, which is the address of what was measured.',
    findWrongUsage,
  ),
];
