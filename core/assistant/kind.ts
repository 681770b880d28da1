import { LIMITS } from '../config/limits.ts'
import { type FileEntry, listIn } from '../config/shape/sections.ts'
import type { JsonObject } from '../contract/json.ts'
import type { NotCarried } from '../features/imports.ts'
import type { RecordKind } from '../registry/record-kinds.ts'

/** Purpose of the encrypted URLs of assistant endpoints. */
export const ENDPOINT_SECRETS = { purpose: 'assistant-endpoint', field: 'url' } as const

/** The kind of assistant endpoints. */
export const ENDPOINTS: RecordKind = {
  ...{ kind: 'endpoint', label: 'endpoint', missing: 'endpoint_not_found', quota: 'quota_endpoints' },
  most: LIMITS.assistantEndpointsPerUser,
  fileSection: 'assistant',
  file: { keys: ['assistant'], read: listIn('endpoints', 'endpoint'), within: ['owner'] },
  fromHub: {
    what: 'settings of assistants',
    instead: 'Set ASSISTANT_ENABLED and ASSISTANT_API_KEY.',
    carry: {
      one: 'an endpoint of an assistant',
      read: carried,
      rest,
      warning: 'Endpoints of assistants come switched off: two hubs must not dial one address',
    },
  },
  acts: true,
  sealedAs: { ...ENDPOINT_SECRETS, what: 'assistant endpoint' },
  moved: { section: 'endpoints', offUnlessSeen: true, offOnRequest: true },
  usesGroup: 'Assistants use the group',
}

/** An endpoint of another hub, switched off: two hubs must not dial one address. */
function carried(
  { pointer, body }: FileEntry,
  groups: ReadonlyMap<string, string>,
  notCarried: NotCarried[],
): JsonObject {
  const { owner: _owner, name: _name, token, group, ...fields } = body
  if (token !== undefined) {
    const instead = 'POST /api/assistant/endpoints/{ref}/token gives you a new one.'
    notCarried.push({ pointer: `#${pointer}/token`, what: 'the token of an inbound endpoint', instead })
  }
  const target = typeof group === 'string' ? (groups.get(group) ?? group).replace('::', '~') : group
  return { ...fields, ...(target === undefined ? {} : { group: target }), enabled: false }
}

function rest({ endpoints, ...others }: JsonObject): JsonObject {
  return Array.isArray(endpoints) ? others : { ...(endpoints === undefined ? {} : { endpoints }), ...others }
}
