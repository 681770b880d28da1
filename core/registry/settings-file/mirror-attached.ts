import { type FieldError, HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { nameKey, quoteName } from '../../domain/names.ts'
import type { AttachedThing } from '../../features/attached.ts'
import type { Store } from '../../store/open.ts'
import type { FileState } from '../api.ts'
import { placeKey } from '../attached.ts'
import { timestamp } from '../context.ts'
import { fileOwner, ownerOf, userByName } from '../owners.ts'
import { entryOwner, type MirrorRun } from './mirror-run.ts'

/** Scope of the settings that say which settings of plugins the file states. */
const STATED = 'internal:stated'

interface Entry {
  /** For messages: `mcpServers["notes"]`. */
  readonly label: string
  readonly attached: JsonObject
  readonly thing: AttachedThing
}

/**
 * Saves the settings of plugins that entries of the file state, and removes those that the file no longer states. An invalid value
 * leaves the last valid one. While a plugin does not run, what it has stays.
 */
export async function mirrorAttached(run: MirrorRun, file: FileState): Promise<void> {
  const { trx, deps, after } = run
  const { attached: all } = deps
  const store: Store = { ...deps.store, joined: { trx, after } }
  const before = await trx.selectFrom('setting').select('key').where('scope', '=', STATED).execute()
  const known = new Set(before.map(({ key }) => key))
  const stated = new Set<string>()
  for (const { label, attached, thing } of await entriesOf(run, file)) {
    for (const [name, value] of Object.entries(attached)) {
      if (!all.names(thing.kind).includes(name)) {
        const detail = `A ${thing.kind} has no "${name}"`
        run.problems.push({ entry: label, errors: [{ pointer: `#/${name}`, code: 'unknown_field', detail }] })
        continue
      }
      const key = placeKey(name, thing)
      stated.add(key)
      if (!known.has(key)) await note(run, key)
      await save(run, store, { label, name, thing, value })
    }
  }
  for (const key of known) if (!stated.has(key)) await remove(run, store, key, stated)
  after(() => all.setStated(stated))
}

interface Stated {
  readonly label: string
  readonly name: string
  readonly thing: AttachedThing
  readonly value: JsonValue
}

async function save(
  { deps: { attached }, problems, applied }: MirrorRun,
  store: Store,
  { label, name, thing, value }: Stated,
) {
  const running = attached.running(name, thing.kind)
  const at = (pointer: string): string => pointer.replace(/^#/, `#/${name}`)
  const report = (errors: readonly FieldError[]) =>
    void problems.push({ entry: label, errors: errors.map(error => ({ ...error, pointer: at(error.pointer) })) })
  if (!running) {
    const detail = `It belongs to the plugin "${attached.pluginOf(name)}", which does not run`
    return report([{ pointer: '#', code: 'unknown_field', detail }])
  }
  try {
    const checked = value === null ? null : running.check(value, thing.kind)
    if (
      hasSame(
        running.open(thing, secret => secret),
        checked,
      )
    )
      return
    await attached.save(store, name, thing, checked)
    applied.push(`${name}/${label}`)
  } catch (error) {
    if (!(error instanceof HubError) || error.status >= 500) throw error
    report(error.errors ?? [{ pointer: '#', code: 'format', detail: error.message }])
  }
}

function hasSame(present: JsonValue | undefined, wanted: JsonValue): boolean {
  return JSON.stringify(present ?? null) === JSON.stringify(wanted)
}

/** Removes settings that left the file. While their plugin does not run, they stay stated, so that a later run removes them. */
async function remove(run: MirrorRun, store: Store, key: string, stated: Set<string>): Promise<void> {
  const { attached } = run.deps
  const [, name = '', kind = '', id = ''] = /^(\S+) (server|group|user):(.*)$/s.exec(key) ?? []
  const thing = await thingById(run, kind, id)
  if (thing) {
    if (!attached.running(name, thing.kind)) return void stated.add(key)
    await attached.save(store, name, thing, null)
    run.applied.push(`${name}/${kind}:${id}`)
  }
  await run.trx.deleteFrom('setting').where('scope', '=', STATED).where('key', '=', key).execute()
}

async function note({ trx, deps }: MirrorRun, key: string): Promise<void> {
  const row = { scope: STATED, key, value: 'true', secret: 0, updated_at: timestamp(deps) }
  await trx.insertInto('setting').values(row).execute()
}

async function thingById({ trx }: MirrorRun, kind: string, id: string): Promise<AttachedThing | undefined> {
  if (kind === 'user') {
    const user = await trx.selectFrom('user').select('id').where('id', '=', id).executeTakeFirst()
    return user && { kind, id, ownerId: id }
  }
  const of = kind === 'server' ? 'server' : 'group'
  const table = of === 'server' ? 'server' : 'server_group'
  const row = await trx.selectFrom(table).select('owner_id').where('id', '=', id).executeTakeFirst()
  return row && { kind: of, id, ownerId: row.owner_id }
}

/** The entries with such settings whose things are there. */
async function entriesOf(run: MirrorRun, { users, servers, groups }: FileState): Promise<readonly Entry[]> {
  const plainOwner = ownerOf(await fileOwner(run.trx))
  const found: Entry[] = []
  for (const { name, attached } of users) {
    const user = attached && (await userByName(run.trx, name))
    if (user)
      found.push({
        label: `users[${quoteName(name)}]`,
        attached,
        thing: { kind: 'user', id: user.id, ownerId: user.id },
      })
  }
  const things = [
    ...servers.map(({ owner, name, attached }) => ({ kind: 'server' as const, owner, name, attached })),
    ...groups.map(({ owner, body, attached }) => ({ kind: 'group' as const, owner, name: body.name, attached })),
  ]
  for (const { kind, owner: named, name, attached } of things) {
    if (attached === undefined || typeof name !== 'string') continue
    const owner = await entryOwner(run, named, plainOwner, () => undefined)
    const row = owner && (await fileThing(run, kind, owner.id, name))
    const label = `${kind === 'server' ? 'mcpServers' : 'groups'}[${quoteName(name)}]`
    if (row) found.push({ label, attached, thing: { kind, id: row.id, ownerId: owner.id } })
  }
  return found
}

function fileThing({ trx }: MirrorRun, kind: 'server' | 'group', ownerId: string, name: string) {
  return trx
    .selectFrom(kind === 'server' ? 'server' : 'server_group')
    .select('id')
    .where('owner_id', '=', ownerId)
    .where('name_key', '=', nameKey(name))
    .where('origin', '=', 'file')
    .executeTakeFirst()
}
