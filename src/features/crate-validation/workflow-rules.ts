/** Rules of Workflow RO-Crate and of Workflow Run Crate: the main workflow, its parameters and its runs. */
import {
  findTargets,
  findWrongReference,
  hasValue,
  makeRule,
  makeTypeRule,
  nameEntity,
  toValueText,
  type CrateView,
  type CrateRule,
  type Violation,
} from './rule.ts';
import type { ViewedEntity } from './view.ts';
import { profileAddresses } from './profiles.ts';
import { makeProfileRule } from './process-rules.ts';

const findMainWorkflows = (crate: CrateView): ViewedEntity[] =>
  crate.root === null ? [] : findTargets(crate, crate.root, 'mainEntity');

const makeMainRule = (
  id: string,
  text: string,
  remedy: string,
  findWrong: (crate: CrateView, workflow: ViewedEntity) => string | boolean,
): CrateRule =>
  makeRule({ id, level: 'MUST', profile: 'workflow-ro-crate', text, remedy }, function* (crate) {
    for (const workflow of findMainWorkflows(crate)) {
      const wrong = findWrong(crate, workflow);
      if (wrong !== false)
        yield { entity: nameEntity(workflow), ...(wrong === true ? {} : { detail: wrong }) };
    }
  });

export const workflowRules: readonly CrateRule[] = [
  makeRule(
    {
      id: 'main-workflow',
      level: 'MUST',
      profile: 'workflow-ro-crate',
      text: 'The root MUST refer to the main workflow by mainEntity.',
      remedy: 'Set "mainEntity": {"@id": …} of the root to the file of the workflow.',
    },
    (crate) => {
      const wrong =
        crate.root !== null &&
        findWrongReference(crate, crate.root, { property: 'mainEntity', to: 'described', isNeeded: true });
      return wrong === false ? [] : [{ entity: crate.root!.id, detail: wrong }];
    },
  ),
  makeMainRule(
    'main-workflow-types',
    'The main workflow MUST be a File, SoftwareSourceCode and ComputationalWorkflow.',
    'Set "@type" to ["File", "SoftwareSourceCode", "ComputationalWorkflow"].',
    (_crate, { types }) => {
      const lacks = ['File', 'SoftwareSourceCode', 'ComputationalWorkflow'].filter(
        (type) => !types.includes(type),
      );
      return lacks.length > 0 && `It is no ${lacks.join(' and no ')}.`;
    },
  ),
  makeMainRule(
    'main-workflow-language',
    'The main workflow MUST refer to its language by programmingLanguage, which is a ComputerLanguage.',
    'Add the reference, and an entity of the type ComputerLanguage.',
    (crate, workflow) =>
      findWrongReference(crate, workflow, {
        property: 'programmingLanguage',
        to: ['ComputerLanguage'],
        isNeeded: true,
      }),
  ),
];

function* findWrongParameters(crate: CrateView): Iterable<Violation> {
  for (const workflow of crate.ofType('ComputationalWorkflow'))
    for (const property of ['input', 'output']) {
      const wrong = findWrongReference(crate, workflow, {
        property,
        to: ['FormalParameter'],
        isNeeded: false,
      });
      if (wrong !== false) yield { entity: nameEntity(workflow), detail: wrong };
    }
}

/** Whether something says that it is a value of the parameter. */
function collectRealized(crate: CrateView): Set<ViewedEntity> {
  return new Set(crate.entities.flatMap((entity) => findTargets(crate, entity, 'exampleOfWork')));
}

const runProfile = 'workflow-run-crate';

export const workflowRunRules: readonly CrateRule[] = [
  makeProfileRule(runProfile),
  makeRule(
    {
      id: 'further-profiles',
      level: 'SHOULD',
      profile: runProfile,
      text: 'The root SHOULD also conform to Process Run Crate and to Workflow RO-Crate.',
      remedy: 'Add their addresses to conformsTo of the root, with a version.',
    },
    (crate) => {
      const stated = crate.root === null ? [] : crate.valuesOf(crate.root, 'conformsTo').map(toValueText);
      const missing = (['process-run-crate', 'workflow-ro-crate'] as const)
        .map((name) => profileAddresses[name])
        .filter((address) => !stated.some((one) => one.startsWith(address)));
      return missing.length === 0
        ? []
        : [{ entity: crate.root?.id ?? null, detail: `${missing.join(' and ')} missing.` }];
    },
  ),
  makeRule(
    {
      id: 'workflow-run',
      level: 'SHOULD',
      profile: runProfile,
      text: 'A run of the main workflow SHOULD be described by a CreateAction with the workflow as instrument.',
      remedy: 'Add the action, and list it under mentions of the root.',
    },
    (crate) => {
      const mains = findMainWorkflows(crate);
      const isRun = crate
        .ofType('CreateAction')
        .some((action) => findTargets(crate, action, 'instrument').some((tool) => mains.includes(tool)));
      return mains.length === 0 || isRun ? [] : [{ entity: nameEntity(mains[0]!) }];
    },
  ),
  makeRule(
    {
      id: 'parameter-reference',
      level: 'MUST',
      profile: runProfile,
      text: 'The input and output of a ComputationalWorkflow MUST refer to FormalParameter entities.',
      remedy: 'Describe each parameter as a FormalParameter.',
    },
    findWrongParameters,
  ),
  makeTypeRule(
    {
      id: 'parameter-type',
      level: 'MUST',
      profile: runProfile,
      text: 'A FormalParameter MUST have an additionalType.',
      remedy: 'Add File, Dataset, Collection, PropertyValue, or a DataType such as Integer or Text.',
    },
    ['FormalParameter'],
    (crate, parameter) => !hasValue(crate, parameter, 'additionalType'),
  ),
  makeTypeRule(
    {
      id: 'parameter-name',
      level: 'SHOULD',
      profile: runProfile,
      text: 'A FormalParameter SHOULD have a name, which is that of the parameter of the workflow.',
      remedy: 'Add the name.',
    },
    ['FormalParameter'],
    (crate, parameter) => !hasValue(crate, parameter, 'name'),
  ),
  makeTypeRule(
    {
      id: 'parameter-value',
      level: 'SHOULD',
      profile: runProfile,
      text: 'The workExample of a FormalParameter SHOULD be a file, folder, Collection or PropertyValue.',
      remedy: 'Refer to what was passed for the parameter.',
    },
    ['FormalParameter'],
    (crate, parameter) =>
      findWrongReference(crate, parameter, {
        property: 'workExample',
        to: ['File', 'MediaObject', 'Dataset', 'Collection', 'PropertyValue'],
        isNeeded: false,
      }),
  ),
  makeRule(
    {
      id: 'parameter-realized',
      level: 'SHOULD',
      profile: runProfile,
      text: 'A FormalParameter SHOULD be referred to by what was passed for it, by exampleOfWork.',
      remedy: 'Add exampleOfWork to the file or PropertyValue.',
    },
    function* (crate) {
      const realized = collectRealized(crate);
      for (const parameter of crate.ofType('FormalParameter'))
        if (!realized.has(parameter)) yield { entity: nameEntity(parameter) };
    },
  ),
];
