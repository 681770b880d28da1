import { HubError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { Actor, ServerSettings } from '../../contract/records.ts'
import { pointerToken } from '../../domain/json/json-pointer.ts'
import { quoteName } from '../../domain/names.ts'
import { roleFor } from '../../domain/ownership.ts'
import { HOSTED_KEY_PREFIX } from '../../domain/server/header-consents.ts'
import { capOfMove } from '../../domain/server/owner-rights.ts'
import { fillVariables } from '../../domain/server/variables.ts'
import { read } from '../../store/transact.ts'
import { notOwner, owned } from '../access.ts'
import type { RegistryDeps } from '../context.ts'
import { ownerOf, userById } from '../owners.ts'
import { ownerName, type ServerRow, serverRecord } from '../rows.ts'
import { type Author, reconfigures } from './author-rights.ts'
import { effectiveOwner } from './held-rights.ts'
import { type Draft, leadsElsewhere } from './server-draft.ts'
import { openSettings } from './server-secrets.ts'

/** Fields beside the harmless ones that change no program, address or credential. */
const NO_CONFIGURATION: ReadonlySet<string> = new Set([
  ...['session', 'era', 'start', 'idleTimeout', 'isolate', 'healthCheck'],
])
/** Fields that only the owner changes. The name is one of them: it is part of addresses, and another thing may have had the new one. */
const OF_THE_OWNER: readonly string[] = ['name', 'visibility', 'owner', 'credentials']

/**
 * Throws `owner_rights_needed` when a colleague would move a server to another host while its owner has keys of hosted platforms:
 * the hub adds such a key to requests by their host alone.
 */
export async function refuseHostedMove(
  { store, sealer }: Pick<RegistryDeps, 'store' | 'sealer'>,
  { colleague }: Author,
  row: ServerRow,
  { filled }: Pick<Draft, 'filled'>,
): Promise<void> {
  if (!colleague || storedHost(sealer, row) === hostOf(filled.url)) return
  const keys = await read(store, db =>
    db
      .selectFrom('setting')
      .select('key')
      .where('scope', '=', row.owner_id)
      .where('key', 'like', `${HOSTED_KEY_PREFIX}%`)
      .limit(1)
      .execute(),
  )
  if (keys.length === 0) return
  const message = `The keys of hosted platforms of ${ownerName(row)} could be sent to the new host`
  throw new HubError('owner_rights_needed', message, { data: { role: 'change' } })
}

/** The host of the stored address, with its variables filled in; undefined for one that cannot be read. */
function storedHost(sealer: RegistryDeps['sealer'], row: ServerRow): string | undefined {
  try {
    const { config, variables } = openSettings(sealer, { ownerId: row.owner_id, id: row.id }, serverRecord(row))
    return hostOf(fillVariables(config, variables).url)
  } catch (error) {
    if (error instanceof HubError) return undefined
    throw error
  }
}

function hostOf(url: JsonValue | undefined): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).host : undefined
}

/** The author of a change of this server: of a colleague with the role `change`, with its own rights. */
export async function authorOf({ store, shares }: RegistryDeps, actor: Actor, row?: ServerRow): Promise<Author> {
  if (!row || actor.kind !== 'user' || roleFor(actor, owned(row), shares) === 'owner') return { actor }
  const user = await read(store, db => userById(db, actor.userId))
  if (!user) throw new HubError('token_revoked', 'The account behind this request does not exist any more')
  return { actor, colleague: ownerOf(user) }
}

/** True when the author's change of these fields is a new configuration, which has no more rights than its author. */
export function reconfiguresBy({ colleague }: Author, changed: readonly string[]): boolean {
  return reconfigures(colleague ? changed.filter(field => !NO_CONFIGURATION.has(field)) : changed)
}

/**
 * Checks the change of somebody with the role `change`, whose rights count beside the owner's. Throws `not_owner` for what its
 * owner decides, `owner_rights_needed` for another program of an owner with more rights, for variables in other places and for headers
 * of callers that would be sent there, `settings_read_only` for another configuration of an entry of the settings file.
 */
export function refuseColleague(
  deps: Pick<RegistryDeps, 'sealer' | 'transports'>,
  author: Author,
  row: ServerRow,
  draft: Draft,
  changed: readonly string[],
): void {
  const { reviewed, settings, kept } = draft
  const { colleague } = author
  if (!colleague) return
  const role = 'change'
  if (reviewed !== undefined || changed.some(field => OF_THE_OWNER.includes(field)))
    throw notOwner('server', row.name, row, role)
  if (movesVariables(serverRecord(row), settings, kept)) {
    const message = `The variables of ${quoteName(row.name)} would be used in another place`
    throw new HubError('owner_rights_needed', message, { data: { role } })
  }
  if (movesHeaders(deps, row, draft)) {
    const message = `The headers that callers of ${quoteName(row.name)} pass on would go where its owner did not send them`
    throw new HubError('owner_rights_needed', message, { data: { role } })
  }
  if (!reconfiguresBy(author, changed)) return
  const rights = { role: 'user' as const, grants: colleague.grants }
  if (runsProgram(row, settings) && capOfMove(rights, effectiveOwner(row)) !== undefined) {
    const message = `${quoteName(row.name)} runs with the rights of ${ownerName(row)}, which you do not have`
    throw new HubError('owner_rights_needed', message, { data: { role } })
  }
  if (row.origin === 'file')
    throw new HubError('settings_read_only', `${quoteName(row.name)} is defined in the settings file`, {
      hint: 'Its owner changes what it runs.',
    })
}

/**
 * True for further headers of callers, or for another address or program while there are some: callers agreed to pass them to what the
 * owner configured.
 */
function movesHeaders(deps: Pick<RegistryDeps, 'sealer' | 'transports'>, row: ServerRow, draft: Draft): boolean {
  const settings = serverRecord(row)
  const { passthroughHeaders: wanted } = draft.settings
  if (wanted.some(name => !settings.passthroughHeaders.includes(name))) return true
  return wanted.length > 0 && leadsElsewhere(deps, draft, { ownerId: row.owner_id, id: row.id, settings })
}

function runsProgram(row: ServerRow, { transport }: Pick<ServerSettings, 'transport'>): boolean {
  return row.transport === 'stdio' || transport === 'stdio'
}

/** True for a text with a variable that was not there: a server may repeat it in a result, and variables may be secret. */
function movesVariables(before: ServerSettings, after: ServerSettings, kept: readonly string[]): boolean {
  const known = textsWithVariables(before)
  for (const pointer of kept) known.delete(pointer)
  for (const [pointer, text] of textsWithVariables(after))
    if (!kept.includes(pointer) && known.get(pointer) !== text) return true
  return false
}

function textsWithVariables({ config, tools }: ServerSettings): Map<string, string> {
  const found = new Map<string, string>()
  const visit = (value: unknown, pointer: string): void => {
    if (typeof value === 'string' && value.includes('${')) found.set(pointer, value)
    if (typeof value !== 'object' || value === null) return
    for (const [name, one] of Object.entries(value)) visit(one, `${pointer}/${pointerToken(name)}`)
  }
  visit({ ...config, tools }, '')
  return found
}
