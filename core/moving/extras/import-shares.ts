import type { UserActor } from '../../contract/records.ts'
import { formatRef } from '../../domain/names.ts'
import type { ShareRecord, UserRecord } from '../../registry/api.ts'
import type { NewShare } from '../../registry/shares-api.ts'
import type { MissingValue } from '../import-items.ts'
import type { ImportResult, ImportScope, Of } from '../import-scope.ts'
import type { RollbackParts } from './rollback-parts.ts'
import type { Subjects } from './subjects.ts'

/** A thing here that an item of the document has become. */
export interface TakenThing {
  readonly id: string
  readonly name: string
  readonly owner: UserRecord
}

/**
 * Shares a thing with the users and teams of the document. Who has a share here keeps it as it is: an import raises no role. Throws
 * what the registry throws.
 */
export async function importShares(
  scope: ImportScope,
  item: Of<'shares'>,
  thing: TakenThing,
  subjects: Subjects,
  warnings: string[],
): Promise<ImportResult> {
  const { actor, parts, made } = scope
  const { shares } = parts.registry
  const ref = formatRef(thing.owner.name, thing.name)
  const wanted = await wantedShares(scope, item, thing, subjects, warnings)
  const shown = { body: { shares: wanted.map(one => ({ ...one })) } }
  const present = await shares.list(actor, item.of, ref)
  const roles = new Map(present.map(({ subject, role }) => [subject, role]))
  const added = wanted.filter(({ subject }) => !roles.has(subject))
  const others = wanted.filter(({ subject, role }) => roles.has(subject) && roles.get(subject) !== role)
  if (added.length + others.length === 0) return { verdict: scope.missing.length > 0 ? 'skipped' : 'same', ...shown }
  const common = { kind: 'shares', id: `${item.of}:${thing.id}`, name: thing.name, owner: thing.owner.id }
  if (others.length > 0 && scope.replaces(item, { ownerId: thing.owner.id }, warnings)) {
    const before = present.map(({ subject, role }) => ({ subject, role }))
    const result = await scope.replace(common, { value: before }, async () =>
      textOf((await shares.replace(actor, item.of, ref, wanted)).shares),
    )
    return { ...result, ...shown }
  }
  for (const { subject } of others)
    warnings.push(`"${subject}" has the role "${roles.get(subject)}" here, and keeps it`)
  if (added.length === 0) return { verdict: 'exists', ...shown }
  await scope.attempt('shares', thing.owner, () => shares.give(actor, item.of, ref, added))
  made.push({ ...common, revision: textOf(added) })
  return { verdict: 'new', ...shown }
}

/** The shares of the document with the names of subjects here; `scope.missing` gets those that nobody here has. */
async function wantedShares(
  scope: ImportScope,
  { shares }: Of<'shares'>,
  { owner }: TakenThing,
  subjects: Subjects,
  warnings: string[],
): Promise<readonly NewShare[]> {
  const wanted = new Map<string, NewShare>()
  const missing: MissingValue[] = []
  for (const { subject: former, role } of shares) {
    const subject = await subjects.find(former, warnings)
    if (subject === null) warnings.push(`"${former}" is left out, as you answered`)
    else if (subject === undefined) missing.push({ name: former, secret: false })
    else if (subject === `user:${owner.name}`) warnings.push(`"${subject}" owns it, and needs no share`)
    else if (wanted.has(subject))
      warnings.push(`"${former}" is "${subject}" here, who has a share of the document already`)
    else wanted.set(subject, { subject, role })
  }
  scope.missing = missing
  return [...wanted.values()]
}

/** Takes back shares that an import gave. Those that somebody has changed since stay. */
export async function undoShares(
  { registry }: RollbackParts,
  actor: UserActor,
  { id, revision }: { readonly id: string; readonly revision: number | string },
  before: readonly NewShare[] | undefined,
): Promise<'changed' | 'gone' | undefined> {
  const { shares, servers, groups } = registry
  const [kind = '', thingId = ''] = id.split(':')
  const of = kind === 'server' ? 'server' : 'group'
  const thing = await (of === 'server' ? servers : groups).byId(actor, thingId)
  if (!thing) return 'gone'
  const ref = formatRef(thing.ownerName, thing.name)
  const present = await shares.list(actor, of, ref)
  if (before) {
    if (textOf(present) !== revision) return 'changed'
    await shares.replace(actor, of, ref, before)
    return undefined
  }
  const given = JSON.parse(String(revision)) as readonly (readonly [subject: string, role: string])[]
  const now = new Map(present.map(one => [one.subject, one]))
  const left = given.filter(([subject]) => now.has(subject))
  if (left.length === 0) return 'gone'
  const same = left.filter(([subject, role]) => now.get(subject)?.role === role)
  for (const [subject] of same) await shares.remove(actor, of, ref, subject)
  return same.length < left.length ? 'changed' : undefined
}

/** The subjects of shares that an import gave, as its record has them. */
export function subjectsIn(revision: number | string): readonly string[] {
  return (JSON.parse(String(revision)) as readonly (readonly string[])[]).map(([subject = '']) => subject)
}

function textOf(shares: readonly Pick<ShareRecord, 'subject' | 'role'>[]): string {
  const pairs = shares.map(({ subject, role }) => [subject, role] as const)
  return JSON.stringify(pairs.sort(([one], [other]) => (one < other ? -1 : 1)))
}
