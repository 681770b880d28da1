import { LIMITS } from '../config/limits.ts'
import { listIn } from '../config/shape/sections.ts'
import type { RecordKind } from '../registry/record-kinds.ts'

/** Purpose of the encrypted URLs of assistant endpoints. */
export const ENDPOINT_SECRETS = { purpose: 'assistant-endpoint', field: 'url' } as const

/** The kind of assistant endpoints. */
export const ENDPOINTS: RecordKind = {
  ...{ kind: 'endpoint', label: 'endpoint', missing: 'endpoint_not_found', quota: 'quota_endpoints' },
  most: LIMITS.assistantEndpointsPerUser,
  fileSection: 'assistant',
  file: { keys: ['assistant'], read: listIn('endpoints', 'endpoint'), within: ['owner'] },
  acts: true,
  sealedAs: { ...ENDPOINT_SECRETS, what: 'assistant endpoint' },
  moved: { section: 'endpoints', offUnlessSeen: true, offOnRequest: true },
  usesGroup: 'Assistants use the group',
}
