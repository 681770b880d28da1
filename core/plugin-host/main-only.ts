import type { ExtensionPoints } from '../contract/points.ts'
import type {} from '../features/mod.ts'

/** Points whose contributions run in the main thread, so that an isolated plugin cannot add any. */
export const MAIN_ONLY_POINTS: readonly string[] = [
  'headerProvider',
  'credentialSource',
  'callGate',
  'groupResolver',
  'tools',
  'toolRanker',
  'importSource',
  'callTracer',
  'contentFilter',
  'tokenVerifier',
  'challenge',
  'secondFactor',
  'teamSource',
  'bridge',
  'serverTemplates',
  'programSource',
  'serverFields',
  'attachedSettings',
  'limitUse',
  'healthCheck',
  'metric',
  'builtPage',
  'notificationChannel',
  'alertMetric',
  'logStore',
] satisfies readonly (keyof ExtensionPoints)[]
