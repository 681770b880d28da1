import type { FieldError } from '../../contract/errors.ts'
import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonValue } from '../../contract/json.ts'
import type { Actor, KeyScope } from '../../contract/records.ts'
import { formatRef, quoteName } from '../../domain/names.ts'
import { roleFor, type SharedRoles } from '../../domain/ownership.ts'
import { wordIn } from '../../domain/spelling/words.ts'
import type { Reader } from '../../store/transact.ts'
import { chooseRow, owned, refKey } from '../access.ts'
import type { KeyRecord } from '../api.ts'
import { selectGroups } from '../groups/group-rows.ts'
import { ownerName } from '../rows.ts'
import { selectServers, serverRowsByKey } from '../server-rows.ts'

const SCOPES = 50

/** The reader of scopes, and what is shared with it. */
interface ScopeReader {
  readonly actor: Actor
  readonly shares: SharedRoles
}

/** The scopes of a key for the API: refs instead of ids; servers and groups that to the reader do not exist are left out. */
export async function publicScopes(
  db: Reader,
  { scopes }: KeyRecord,
  { actor, shares }: ScopeReader,
): Promise<JsonValue[]> {
  const ids = (kind: 'groupId' | 'serverId') =>
    scopes.flatMap(scope => (typeof scope === 'object' && kind in scope ? [Object.values(scope)[0] as string] : []))
  const servers = ids('serverId')
  const groups = ids('groupId')
  const rows = [
    ...(servers.length > 0 ? await selectServers(db).where('server.id', 'in', servers).execute() : []),
    ...(groups.length > 0 ? await selectGroups(db).where('server_group.id', 'in', groups).execute() : []),
  ]
  const seen = rows.filter(row => roleFor(actor, owned(row), shares) !== undefined)
  const refs = new Map(seen.map(row => [row.id, formatRef(ownerName(row), row.name)]))
  return scopes.flatMap((scope): JsonValue[] => {
    if (typeof scope === 'string') return [scope]
    const [field, id] = 'groupId' in scope ? (['group', scope.groupId] as const) : (['server', scope.serverId] as const)
    const ref = refs.get(id)
    return ref === undefined ? [] : [{ [field]: ref }]
  })
}

/** Parses scopes and resolves their refs as the actor sees them; adds problems to `errors`. */
export async function readScopes(
  db: Reader,
  actor: Actor,
  scopes: readonly JsonValue[],
  { errors, shares }: { readonly errors: FieldError[]; readonly shares: SharedRoles },
): Promise<KeyScope[]> {
  if (scopes.length < 1 || scopes.length > SCOPES) {
    errors.push({ pointer: '#/scopes', code: 'length', detail: `An access key has 1 to ${SCOPES} scopes` })
    return []
  }
  const found: KeyScope[] = []
  for (const [index, scope] of scopes.entries()) {
    const read = await readScope(db, actor, scope, { pointer: `#/scopes/${index}`, shares })
    if (typeof read === 'object' && 'pointer' in read) errors.push(read)
    else found.push(read)
  }
  return found
}

async function readScope(
  db: Reader,
  actor: Actor,
  scope: JsonValue,
  { pointer, shares }: { readonly pointer: string; readonly shares: SharedRoles },
): Promise<KeyScope | FieldError> {
  if (typeof scope === 'string') {
    const word = wordIn(['api', 'api:read', 'mcp'], scope)
    if (word !== undefined) return word
    return {
      pointer,
      code: 'enum',
      detail: `A scope is api, api:read, mcp, {"group": …} or {"server": …}, not ${quoteName(scope)}`,
    }
  }
  const [field, ref] = (isJsonObject(scope) && Object.entries(scope).length === 1 && Object.entries(scope)[0]) || []
  if ((field !== 'group' && field !== 'server') || typeof ref !== 'string') {
    return { pointer, code: 'type', detail: 'A scope is api, api:read, mcp, {"group": "name"} or {"server": "name"}' }
  }
  try {
    if (field === 'server') {
      const rows = await serverRowsByKey(db, refKey(ref))
      return { serverId: chooseRow('server', rows, actor, ref, { right: 'use', shares }).id }
    }
    const rows = await selectGroups(db).where('server_group.name_key', '=', refKey(ref)).execute()
    return { groupId: chooseRow('group', rows, actor, ref, { right: 'use', shares }).id }
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    const code = error.code.endsWith('_ambiguous') ? 'ambiguous' : 'member_not_found'
    return { pointer: `${pointer}/${field}`, code, detail: error.message }
  }
}
