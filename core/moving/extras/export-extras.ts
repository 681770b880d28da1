import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import { pointerToken } from '../../domain/json/json-pointer.ts'
import { nextTurn } from '../../domain/next-turn.ts'
import type { AttachedKind, AttachedThing } from '../../features/attached.ts'
import type { SharedKind } from '../../registry/api.ts'
import type { ExportRegistry, Keep } from '../export-form.ts'
import { SECTIONS } from './read-extras.ts'

type Thing = AttachedThing & { readonly name: string }

/**
 * Data that belongs to the things of an export: shares, and settings of plugins for them. An administrator's has the teams too, and the
 * settings of users.
 */
export async function exportedExtras(registry: ExportRegistry, actor: UserActor, keep: Keep): Promise<JsonObject> {
  const { userId: ownerId } = actor
  const own = async (kind: SharedKind): Promise<readonly Thing[]> => {
    const list = await registry[`${kind}s`].list(actor, { scope: 'mine' })
    return sorted(list.map(({ id, name }) => ({ kind, id, name, ownerId })))
  }
  const [servers, groups] = [await own('server'), await own('group')]
  const keys = (await registry.keys.list(actor)).map(({ id, label }) => ({
    kind: 'key' as const,
    id,
    name: label,
    ownerId,
  }))
  const isAdmin = actor.role === 'admin'
  const users = isAdmin ? await registry.users.list(actor, {}) : []
  const people = users.map(({ id, name }) => ({ kind: 'user' as const, id, name, ownerId: id }))
  return {
    ...(isAdmin ? await exportedTeams(registry, actor) : {}),
    ...(await exportedShares(registry, actor, [...servers, ...groups])),
    ...(await exportedSettings(registry, [...servers, ...groups, ...sorted(people), ...sorted(keys)], keep)),
  }
}

function sorted<T extends { readonly name: string }>(things: readonly T[]): readonly T[] {
  return things.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

async function exportedTeams({ teams }: ExportRegistry, actor: UserActor): Promise<JsonObject> {
  const all = await teams.list(actor)
  if (all.length === 0) return {}
  const body = all.map(({ name, members = [], source }) => [name, source ? { source: { ...source } } : { members }])
  return { teams: Object.fromEntries(body) }
}

async function exportedShares(
  { shares }: ExportRegistry,
  actor: UserActor,
  things: readonly Thing[],
): Promise<JsonObject> {
  const found = new Sections()
  for (const { kind, name } of things) {
    const given = await shares.list(actor, kind === 'server' ? 'server' : 'group', `${actor.name}~${name}`)
    if (given.length > 0)
      found.add(
        kind,
        name,
        given.map(({ subject, role }) => ({ subject, role })),
      )
    await nextTurn()
  }
  return found.isEmpty ? {} : { shares: found.object() }
}

/** The settings of the plugins that run. */
async function exportedSettings(
  { attached }: ExportRegistry,
  things: readonly Thing[],
  keep: Keep,
): Promise<JsonObject> {
  const all: [string, JsonObject][] = []
  for (const name of attached.names()) {
    const found = new Sections()
    for (const thing of things) {
      const at = `/${name}/${SECTIONS[thing.kind]}/${pointerToken(thing.name)}`
      const value = attached
        .running(name, thing.kind)
        ?.open(thing, (secret, pointer) => keep(secret, `${at}${pointer}`))
      if (value !== undefined) found.add(thing.kind, thing.name, value)
    }
    if (!found.isEmpty) all.push([name, found.object()])
    await nextTurn()
  }
  return Object.fromEntries(all)
}

/** Values by the kind and the name of things. */
class Sections {
  readonly #found = new Map<AttachedKind, Map<string, JsonValue>>()

  get isEmpty(): boolean {
    return this.#found.size === 0
  }

  add(kind: AttachedKind, name: string, value: JsonValue): void {
    const section = this.#found.get(kind) ?? new Map<string, JsonValue>()
    this.#found.set(kind, section.set(name, value))
  }

  object(): JsonObject {
    return Object.fromEntries([...this.#found].map(([kind, section]) => [SECTIONS[kind], Object.fromEntries(section)]))
  }
}
