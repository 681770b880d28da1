import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonValue } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import { canonical } from '../../domain/json/canonical-json.ts'
import { maskSecret } from '../../domain/server/secrets.ts'
import type { AttachedSettings, AttachedThing } from '../../features/attached.ts'
import type { ImportResult, ImportScope, Of } from '../import-scope.ts'
import type { RollbackParts } from './rollback-parts.ts'
import type { Subjects } from './subjects.ts'

/**
 * Saves the settings of a plugin for a thing, within the final transaction. Throws `validation_failed`, and what the plugin throws
 * for an actor who may not set them.
 */
export async function importAttached(
  scope: ImportScope,
  item: Of<'attached'>,
  thing: AttachedThing & { readonly name: string },
  subjects: Subjects,
  warnings: string[],
): Promise<ImportResult> {
  const { attached, actor, parts, made } = scope
  const { attached: kind } = item
  scope.missing = item.missing ?? []
  const settings = attached.running(kind, item.of)
  if (!settings) return left(warnings, `The plugin "${attached.pluginOf(kind)}" does not run`)
  if (scope.missing.length > 0) return left(warnings, `It is taken when you answer what it asks: ${namesOf(scope)}`)
  settings.permit?.(actor, thing)
  const value = await withTeams(scope, settings, settings.check(item.value, item.of), subjects, warnings)
  if (scope.missing.length > 0) return { verdict: 'skipped' }
  const shown = { body: shownBody(settings, value) }
  const present = settings.open(thing, () => '')
  if (isDeepStrictEqual(present, blanked(settings, value))) return { verdict: 'same', ...shown }
  if (attached.isStated(kind, thing)) {
    warnings.push('It is not changed: the settings file states it')
    return { verdict: 'exists', ...shown }
  }
  const common = { kind, id: `${thing.kind}:${thing.id}`, name: thing.name, owner: thing.ownerId }
  const revision = digest(blanked(settings, value))
  const save = () => parts.later(store => attached.save(store, kind, thing, value))
  if (present === undefined) {
    save()
    made.push({ ...common, revision })
    return { verdict: 'new', ...shown }
  }
  if (!scope.replaces(item, { ownerId: thing.ownerId }, warnings)) return { verdict: 'exists', ...shown }
  const before = settings.open(thing, secret => secret) ?? null
  const result = await scope.replace(common, { value: before }, async () => {
    save()
    return revision
  })
  return { ...result, ...shown }
}

/** The value with the names of teams here; `scope.missing` gets those that are not here. */
async function withTeams(
  scope: ImportScope,
  settings: AttachedSettings,
  value: JsonValue,
  subjects: Subjects,
  warnings: string[],
): Promise<JsonValue> {
  const named = new Set<string>()
  const noted = settings.renamed?.(value, team => {
    named.add(team)
    return team
  })
  if (noted === undefined || named.size === 0) return value
  const here = new Map<string, string>()
  for (const team of named) {
    const found = await subjects.find(`team:${team}`, warnings)
    if (found) here.set(team, found.slice('team:'.length))
    else scope.missing = [...scope.missing, { name: `team:${team}`, secret: false }]
  }
  return settings.renamed?.(value, team => here.get(team) ?? team) ?? value
}

function left(warnings: string[], why: string): ImportResult {
  warnings.push(why)
  return { verdict: 'skipped' }
}

function namesOf({ missing }: ImportScope): string {
  return missing.map(({ name }) => name).join(', ')
}

function shownBody(settings: AttachedSettings, value: JsonValue) {
  const shown = settings.masked?.(value, maskSecret) ?? value
  return isJsonObject(shown) ? shown : {}
}

/** The value without its secrets: an import must not reveal by trial what is stored. */
function blanked(settings: AttachedSettings, value: JsonValue): JsonValue {
  return settings.masked?.(value, () => '') ?? value
}

function digest(value: JsonValue): string {
  return createHash('sha256').update(canonical(value)).digest('hex')
}

/** Takes back settings that an import saved, unless they are others by now. */
export async function undoAttached(
  parts: RollbackParts,
  actor: UserActor,
  made: { readonly kind: string; readonly id: string; readonly owner: string; readonly revision: number | string },
  before: JsonValue | undefined,
): Promise<'changed' | 'gone' | undefined> {
  const { attached, later } = parts
  const thing = await thingOf(parts, actor, made)
  if (!thing) return 'gone'
  const settings = attached.running(made.kind, thing.kind)
  if (!settings) throw new HubError('import_not_found', `the plugin "${attached.pluginOf(made.kind)}" does not run`)
  if (thing.kind === 'user' && actor.role !== 'admin') throw new HubError('admin_only', 'only administrators change it')
  settings.permit?.(actor, thing)
  attached.refuseStated(made.kind, thing)
  const present = settings.open(thing, () => '')
  if (present === undefined) return 'gone'
  if (digest(present) !== made.revision) return 'changed'
  const value = before === undefined ? null : before
  later(store => attached.save(store, made.kind, thing, value))
  return undefined
}

async function thingOf(
  { registry }: RollbackParts,
  actor: UserActor,
  { id: place, owner }: { readonly id: string; readonly owner: string },
): Promise<AttachedThing | undefined> {
  const [kind = '', id = ''] = place.split(':')
  if (kind === 'server' || kind === 'group') {
    const record = await (kind === 'server' ? registry.servers : registry.groups).byId(actor, id)
    if (!record) return undefined
    if (record.ownerId !== actor.userId && actor.role !== 'admin')
      throw new HubError('not_owner', 'it belongs to somebody else by now')
    return { kind, id, ownerId: record.ownerId }
  }
  if (kind === 'user') return (await registry.users.byId(id)) && { kind, id, ownerId: id }
  const isThere = owner === actor.userId && (await registry.keys.list(actor)).some(one => one.id === id)
  return isThere ? { kind: 'key', id, ownerId: owner } : undefined
}
