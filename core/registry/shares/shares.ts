import { LIMITS } from '../../config/limits.ts'
import { type FieldError, HubError } from '../../contract/errors.ts'
import type { Actor, UserActor } from '../../contract/records.ts'
import { formatRef, quoteName } from '../../domain/names.ts'
import { includesRole, isPublic, roleFor, roleUnderMcp, type Thing, type ThingRole } from '../../domain/ownership.ts'
import { validationError } from '../../domain/validation-error.ts'
import { type Reader, read, type Writer, write } from '../../store/transact.ts'
import { chooseRow, notFound, notOwner, type OwnedRow, owned, refKey } from '../access.ts'
import type { RegistryDeps } from '../context.ts'
import { OWNER_COLUMNS, ownerName } from '../rows.ts'
import type {
  NewShare,
  SharedKind,
  ShareRecord,
  ShareRegistry,
  SharesChange,
  ShareTarget,
  Viewer,
} from '../shares-api.ts'
import { type ShareRow, shareRows } from './share-rows.ts'
import { findSubject, type NamedSubject, subjectText } from './subjects.ts'
import { type Wanted, writeShares } from './write-shares.ts'

/** Shares in the store. */
export class Shares implements ShareRegistry {
  readonly #deps: RegistryDeps

  constructor(deps: RegistryDeps) {
    this.#deps = deps
  }

  roleOf(actor: Actor, thing: Thing): ThingRole | undefined {
    return roleFor(actor, thing, this.#deps.shares)
  }

  roleUnderMcp(userId: string, thing: Thing): ThingRole | undefined {
    return roleUnderMcp(userId, thing, this.#deps.shares)
  }

  mayUse(userId: string, thing: Thing): boolean {
    return this.roleUnderMcp(userId, thing) !== undefined
  }

  async reachOf(server: Thing): Promise<(userId: string) => boolean> {
    const { shares, store } = this.#deps
    const groups = shares.isEmpty ? [] : await read(store, db => bringingGroups(db, server))
    const bringing = groups.filter(id => shares.isShared(id))
    const isBrought = (userId: string) => bringing.some(id => shares.sharedRole(userId, id) !== undefined)
    return userId => this.mayUse(userId, server) || (server.ownerDisabled !== true && isBrought(userId))
  }

  isMissedBySome(group: Thing, server: Thing): boolean {
    if (isPublic(server)) return false
    return isPublic(group) || (server.ownerId !== group.ownerId && this.#deps.shares.isMissing(group.id, server))
  }

  async viewer(actor: Actor, ref: string, name: string): Promise<Viewer> {
    const row = await this.#row(actor, 'group', ref)
    const own = this.roleOf(actor, owned(row))
    if (own !== 'owner') throw notOwner('group', ref, row, own)
    const found = await read(this.#deps.store, db => findSubject(db, `user:${name}`))
    const role = this.roleUnderMcp(found.id, owned(row))
    return { userId: found.id, name: found.name, ...(role === undefined ? {} : { role }) }
  }

  async list(actor: Actor, kind: SharedKind, ref: string): Promise<readonly ShareRecord[]> {
    const { id } = await this.#own(actor, kind, ref)
    return (await read(this.#deps.store, db => shareRows(db, kind, id))).map(({ record }) => record)
  }

  async replace(actor: UserActor, kind: SharedKind, ref: string, shares: readonly NewShare[]): Promise<SharesChange> {
    const target = await this.#own(actor, kind, ref)
    return this.#write(actor, target, async trx => {
      const wanted = await this.#named(trx, target, shares)
      const kept = new Set(wanted.map(({ subject }) => subject.id))
      const present = await shareRows(trx, kind, target.id)
      refuseStated(present)
      const gone = present.filter(({ subject }) => !kept.has(subject.id))
      return [...gone.map(({ subject, record }) => ({ subject: asNamed(subject, record), role: null })), ...wanted]
    })
  }

  async give(actor: UserActor, kind: SharedKind, ref: string, shares: readonly NewShare[]): Promise<SharesChange> {
    const target = await this.#own(actor, kind, ref)
    return this.#write(actor, target, async trx => {
      const wanted = await this.#named(trx, target, shares)
      const present = await shareRows(trx, kind, target.id)
      return wanted.filter(({ subject }) => roleIn(present, subject) === null)
    })
  }

  async subject(text: string): Promise<string> {
    return subjectText(await read(this.#deps.store, db => findSubject(db, text)))
  }

  async put(actor: UserActor, kind: SharedKind, ref: string, wanted: NewShare): Promise<SharesChange> {
    const { subject, role, keepsGreater } = wanted
    const target = await this.#own(actor, kind, ref)
    let named = ''
    const change = await this.#write(actor, target, async trx => {
      const found = await findSubject(trx, subject)
      const present = await shareRows(trx, kind, target.id)
      refuseOwner(target, found, '#/subject')
      named = subjectText(found)
      if (keepsGreater && includesRole(roleIn(present, found) ?? undefined, role)) return []
      refuseStated(present.filter(one => isSubject(one, found)))
      return [{ subject: found, role }]
    })
    const concerned = change.shares.find(share => share.subject === named)
    return { ...change, ...(concerned ? { concerned } : {}) }
  }

  async remove(actor: UserActor, kind: SharedKind, ref: string, subject: string): Promise<SharesChange> {
    const row = await this.#row(actor, kind, ref)
    const target = targetOf(kind, row)
    const role = this.roleOf(actor, owned(row))
    return this.#write(actor, target, async trx => {
      const missing = () => new HubError('share_not_found', `It is not shared with ${quoteName(subject)}`)
      const found = await findSubject(trx, subject).catch((error: unknown) => {
        throw role === 'owner' || !(error instanceof HubError) || error.status !== 404
          ? error
          : notOwner(kind, ref, row, role)
      })
      const isOwn = found.kind === 'user' && found.id === actor.userId
      if (role !== 'owner' && !isOwn) throw notOwner(kind, ref, row, role)
      const present = await shareRows(trx, kind, target.id)
      const share = present.find(one => isSubject(one, found))
      if (!share) throw missing()
      refuseStated([share])
      return [{ subject: found, role: null }]
    })
  }

  /** The thing, if the actor may share it. */
  async #own(actor: Actor, kind: SharedKind, ref: string): Promise<ShareTarget> {
    const row = await this.#row(actor, kind, ref)
    const role = this.roleOf(actor, owned(row))
    if (role !== 'owner') throw notOwner(kind, ref, row, role)
    return targetOf(kind, row)
  }

  #row(actor: Actor, kind: SharedKind, ref: string): Promise<OwnedRow> {
    const { store, shares } = this.#deps
    return read(store, async db =>
      chooseRow(kind, await namedThings(db, kind, refKey(ref)), actor, ref, { right: 'use', shares }),
    )
  }

  /** Looks up all subjects. Throws `validation_failed`, `quota_shares`. */
  async #named(db: Reader, target: ShareTarget, shares: readonly NewShare[]): Promise<Wanted> {
    if (shares.length > LIMITS.sharesPerThing) throw tooMany()
    const errors: FieldError[] = []
    const found: { subject: NamedSubject; role: NewShare['role'] }[] = []
    for (const [index, { subject, role }] of shares.entries()) {
      const pointer = `#/shares/${index}/subject`
      try {
        const named = await findSubject(db, subject)
        refuseOwner(target, named, pointer)
        if (found.some(one => one.subject.id === named.id)) {
          const detail = `${quoteName(subject)} is named twice`
          errors.push({ pointer, code: 'duplicate', detail })
        } else found.push({ subject: named, role })
      } catch (error) {
        if (!(error instanceof HubError) || error.status >= 500) throw error
        errors.push(...(error.errors ?? [{ pointer, code: 'enum' as const, detail: error.message }]))
      }
    }
    if (errors.length > 0) throw validationError(errors, 'It cannot be shared')
    return found
  }

  async #write(actor: UserActor, target: ShareTarget, decide: (trx: Writer) => Promise<Wanted>): Promise<SharesChange> {
    return write(this.#deps.store, async (trx, after) => {
      await requireSameOwner(trx, target)
      const wanted = await decide(trx)
      const before = await shareRows(trx, target.kind, target.id)
      const changed = wanted.filter(({ subject, role }) => roleIn(before, subject) !== role)
      await writeShares(this.#deps, { trx, after }, target, { changed, origin: 'store', grantedBy: actor.userId })
      const shares = await shareRows(trx, target.kind, target.id)
      if (shares.length > LIMITS.sharesPerThing) throw tooMany()
      const changes = changed.map(({ subject, role }) => ({ subject: subjectText(subject), role }))
      return { target, shares: shares.map(({ record }) => record), changed: changes }
    })
  }
}

/** Throws `server_not_found` or `group_not_found` when the thing was deleted, or given to another owner, since it was read. */
async function requireSameOwner(
  trx: Writer,
  { kind, id, ownerId, ownerName: owner, name }: ShareTarget,
): Promise<void> {
  const row = await trx
    .selectFrom(kind === 'server' ? 'server' : 'server_group')
    .select('owner_id')
    .where('id', '=', id)
    .executeTakeFirst()
  if (row?.owner_id !== ownerId) throw notFound(kind, formatRef(owner, name))
}

function isSubject({ subject }: ShareRow, { kind, id }: NamedSubject): boolean {
  return subject.kind === kind && subject.id === id
}

function roleIn(rows: readonly ShareRow[], subject: NamedSubject): NewShare['role'] | null {
  return rows.find(row => isSubject(row, subject))?.record.role ?? null
}

function asNamed({ kind, id }: ShareRow['subject'], { subject }: ShareRecord): NamedSubject {
  return { kind, id, name: subject.slice(kind.length + 1) }
}

function targetOf(kind: SharedKind, row: OwnedRow): ShareTarget {
  return { kind, id: row.id, name: row.name, ownerId: row.owner_id, ownerName: ownerName(row) }
}

function refuseOwner({ ownerId, ownerName: owner }: ShareTarget, { kind, id }: NamedSubject, pointer: string): void {
  if (kind !== 'user' || id !== ownerId) return
  throw validationError([{ pointer, code: 'enum', detail: `${quoteName(owner)} owns it, and has all rights already` }])
}

/** The shares that the settings file states are changed there. */
function refuseStated(rows: readonly ShareRow[]): void {
  if (rows.every(({ record }) => record.origin === 'store')) return
  throw new HubError('settings_read_only', 'Its shares are defined in the settings file', {
    hint: 'Change "shares" of its entry in the settings file.',
  })
}

function tooMany(): HubError {
  return new HubError('quota_shares', `One thing is shared with at most ${LIMITS.sharesPerThing} users and teams`)
}

/** Groups of the server's owner that have it as a member. */
async function bringingGroups(db: Reader, { id, ownerId }: Thing): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('group_member')
    .innerJoin('server_group', 'server_group.id', 'group_member.group_id')
    .select('server_group.id')
    .where('group_member.server_id', '=', id)
    .where('server_group.owner_id', '=', ownerId)
    .execute()
  return rows.map(row => row.id)
}

/** All owners' things of a kind with this name. */
function namedThings(db: Reader, kind: SharedKind, key: string): Promise<readonly OwnedRow[]> {
  const table = kind === 'server' ? 'server' : 'server_group'
  return db
    .selectFrom(table)
    .innerJoin('user', 'user.id', `${table}.owner_id`)
    .select([`${table}.id`, `${table}.owner_id`, `${table}.name`, `${table}.name_key`, `${table}.visibility`])
    .select([`${table}.created_at`, `${table}.updated_at`, ...OWNER_COLUMNS])
    .where(`${table}.name_key`, '=', key)
    .execute()
}
