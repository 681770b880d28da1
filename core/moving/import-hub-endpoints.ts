import { ENDPOINTS } from '../assistant/kind.ts'
import type { SettingsState } from '../config/shape/settings.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { NotCarried } from '../contract/points.ts'
import type { ImportItem } from './import-items.ts'

/** What a hub's file says of assistants. */
export interface HubEndpoints {
  readonly items: readonly ImportItem[]
  readonly notCarried: readonly NotCarried[]
  readonly warnings: readonly string[]
}

/**
 * The endpoints of assistants in a hub's file, switched off: two hubs must not dial one address. `ownerOf` says whose something
 * is; `groups` has the names of groups by their former ids.
 */
export function readEndpoints(
  { records }: SettingsState,
  ownerOf: (owner: string | undefined) => { readonly owner?: string },
  groups: ReadonlyMap<string, string>,
): HubEndpoints {
  const items: ImportItem[] = []
  const notCarried: NotCarried[] = []
  for (const { pointer: at, body } of records.get(ENDPOINTS.kind) ?? []) {
    const pointer = `#${at}`
    const { owner, name, token, group, ...rest } = body
    if (typeof name !== 'string') {
      notCarried.push({ pointer, what: 'an endpoint of an assistant without a name', instead: 'Give it one.' })
      continue
    }
    if (token !== undefined) {
      const instead = 'POST /api/assistant/endpoints/{ref}/token gives you a new one.'
      notCarried.push({ pointer: `${pointer}/token`, what: 'the token of an inbound endpoint', instead })
    }
    items.push({
      ...{
        kind: 'record',
        record: ENDPOINTS.kind,
        pointer,
        name,
        ...ownerOf(typeof owner === 'string' ? owner : undefined),
      },
      body: { ...rest, ...(group === undefined ? {} : { group: targetOf(group, groups) }), enabled: false },
      place: inner => inner.replace(/^#/, () => pointer),
    })
  }
  const warnings =
    items.length === 0 ? [] : ['Endpoints of assistants come switched off: two hubs must not dial one address']
  return { items, notCarried, warnings }
}

/** What is there besides the endpoints: nothing of it is carried. */
export function besideEndpoints({ endpoints, ...rest }: JsonObject): JsonObject {
  return Array.isArray(endpoints) ? rest : { ...(endpoints === undefined ? {} : { endpoints }), ...rest }
}

function targetOf(group: JsonValue, groups: ReadonlyMap<string, string>): JsonValue {
  return typeof group === 'string' ? (groups.get(group) ?? group).replace('::', '~') : group
}
