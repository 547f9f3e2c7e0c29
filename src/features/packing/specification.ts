/**
 * What differs between the versions of RO-Crate that a crate can be written in. Version 1.1 is the default, since
 * today's readers and validators know it (docs/decisions/045). It writes no entities.
 */
import type { EntityReference } from './entities.ts';

export const crateSpecificationVersions = ['1.1', '1.2', '1.3'] as const;
export type CrateSpecificationVersion = (typeof crateSpecificationVersions)[number];

/** The address of a context, with the terms that it lacks. */
export type JsonLdContext = string | readonly (string | Readonly<Record<string, string>>)[];

export interface CrateSpecification {
  readonly version: CrateSpecificationVersion;
  readonly url: string;
  readonly context: JsonLdContext;
  /** The version of Process Run Crate that is made for it. */
  readonly runProfile: { readonly id: string; readonly version: string; readonly types: readonly string[] };
  /** Whether a file that is not in the crate can be described as a File, with the path that it would have. */
  readonly describesMissingFiles: boolean;
  readonly toActionStatus: (succeeded: boolean) => string | EntityReference;
}

const getRunProfile = (version: string, types: readonly string[]) => ({
  id: `https://w3id.org/ro/wfrun/process/${version}`,
  version,
  types,
});

const getActionStatusUrl = (succeeded: boolean): string =>
  `http://schema.org/${succeeded ? 'Completed' : 'Failed'}ActionStatus`;

const crateSpecifications: Readonly<Record<CrateSpecificationVersion, CrateSpecification>> = {
  '1.1': {
    version: '1.1',
    url: 'https://w3id.org/ro/crate/1.1',
    // As the terms of Workflow Run Crate define it; a second address would have to be fetched by every reader.
    context: [
      'https://w3id.org/ro/crate/1.1/context',
      { sha256: 'https://w3id.org/ro/terms/workflow-run#sha256' },
    ],
    runProfile: getRunProfile('0.5', ['CreativeWork']),
    describesMissingFiles: false,
    toActionStatus: getActionStatusUrl,
  },
  '1.2': {
    version: '1.2',
    url: 'https://w3id.org/ro/crate/1.2',
    context: 'https://w3id.org/ro/crate/1.2/context',
    runProfile: getRunProfile('0.5', ['CreativeWork', 'Profile']),
    describesMissingFiles: true,
    toActionStatus: getActionStatusUrl,
  },
  '1.3': {
    version: '1.3',
    url: 'https://w3id.org/ro/crate/1.3',
    context: 'https://w3id.org/ro/crate/1.3/context',
    runProfile: getRunProfile('0.6', ['CreativeWork', 'Profile']),
    describesMissingFiles: true,
    toActionStatus: (succeeded) => ({ '@id': getActionStatusUrl(succeeded) }),
  },
};

export function getCrateSpecification(version: CrateSpecificationVersion = '1.1'): CrateSpecification {
  return crateSpecifications[version];
}
