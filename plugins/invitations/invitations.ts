import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { HubError, type PluginContext, type UserActor } from 'patchbay/contract'
import type { SharedThing } from 'patchbay/features'
import type { LIMITS } from './errors.ts'
import { Guesses } from './guesses.ts'
import type { InvitationRow, InvitationTables } from './tables.ts'
import type { InvitedRole, InvitedThing } from './types.ts'

/** 192 random bits. */
const TOKEN_BYTES = 24
/** Time for which expired invitations stay in the list of their owner. */
const KEPT_MS = 30 * 86_400_000

/** The view of an invitation before it is accepted. */
export interface Offer {
  readonly by: string
  readonly role: InvitedRole
  readonly things: readonly SharedThing[]
  readonly expiresAt: string
}

/** Invitations in the plugin's tables. Shares are given in the right that the inviting owner has when they are accepted. */
export class Invitations {
  readonly #context: PluginContext<unknown>
  readonly #tables
  readonly #guesses = new Guesses()

  constructor(context: PluginContext<unknown>) {
    this.#context = context
    this.#tables = context.tables<InvitationTables>()
  }

  /** Throws `invitation_limit`, and the errors of things that the actor does not own. The token is returned this once. */
  async create(
    actor: UserActor,
    wanted: { things: readonly { kind: 'server' | 'group'; ref: string }[]; role: InvitedRole; uses: number },
    expiresAt: string,
  ): Promise<{ readonly row: InvitationRow; readonly token: string }> {
    const { shares, limits, error } = this.#context
    const things: InvitedThing[] = []
    for (const { kind, ref } of wanted.things) {
      const { id } = await shares.owned(actor.userId, kind, ref)
      if (!things.some(thing => thing.id === id)) things.push({ kind, id })
    }
    const token = `pbi_${randomBytes(TOKEN_BYTES).toString('base64url')}`
    const row: InvitationRow = {
      ...{ id: randomUUID(), user_id: actor.userId, hash: hashOf(token), things: JSON.stringify(things) },
      ...{ role: wanted.role, uses: wanted.uses, used: 0 },
      ...{ created_at: new Date().toISOString(), expires_at: expiresAt },
    }
    const most = (limits as typeof LIMITS).invitationsPerUser
    await this.#tables.write(async db => {
      const { count } = await db
        .selectFrom('invitation')
        .where('user_id', '=', actor.userId)
        .select(db.fn.countAll().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count) >= most) throw error('invitation_limit', `You have ${most} invitations already`)
      await db.insertInto('invitation').values(row).execute()
    })
    return { row, token }
  }

  /** The invitations of a user, the newest first. */
  list(userId: string): Promise<InvitationRow[]> {
    return this.#tables.read(db =>
      db.selectFrom('invitation').selectAll().where('user_id', '=', userId).orderBy('created_at', 'desc').execute(),
    )
  }

  /** The users who accepted invitations, by invitation. */
  async acceptedBy(ids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    if (ids.length === 0) return new Map()
    const rows = await this.#tables.read(db =>
      db.selectFrom('acceptance').selectAll().where('invitation_id', 'in', ids).orderBy('created_at').execute(),
    )
    const names = new Map<string, string[]>()
    for (const { invitation_id, user_id } of rows) {
      const person = await this.#context.people.byId(user_id)
      if (person) names.set(invitation_id, [...(names.get(invitation_id) ?? []), person.name])
    }
    return names
  }

  /** Ends an invitation; what was given stays. Throws `invitation_unknown`. */
  async remove(userId: string, id: string): Promise<void> {
    const gone = await this.#tables.write(async db => {
      const { numDeletedRows } = await db
        .deleteFrom('invitation')
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst()
      if (numDeletedRows > 0n) await db.deleteFrom('acceptance').where('invitation_id', '=', id).execute()
      return numDeletedRows > 0n
    })
    if (!gone) throw this.#context.error('invitation_unknown', 'You have no such invitation')
  }

  /** Shows what an invitation gives. Throws `invitation_unknown`, `invitation_expired`, `invitation_used`, `rate_limited`. */
  async preview(guest: UserActor, token: string): Promise<Offer> {
    return (await this.#open(guest, token)).offer
  }

  /**
   * Shares with the guest what the invitation gives; greater roles stay. Each user accepts an invitation once: what was taken away
   * afterwards is not given again, also where a part of it was refused. Throws as {@link preview} does, and the refusal of a share.
   */
  async accept(guest: UserActor, token: string): Promise<Offer> {
    const { row, offer } = await this.#open(guest, token)
    if (row.user_id === guest.userId) return offer
    await this.#claim(row, guest.userId)
    const refused = await this.#give(row, offer.things, guest.userId)
    if (refused.length === offer.things.length) throw refused[0]
    await this.#tables.write(db =>
      db
        .updateTable('acceptance')
        .set({ done: 1 })
        .where('invitation_id', '=', row.id)
        .where('user_id', '=', guest.userId)
        .execute(),
    )
    if (refused.length > 0) throw refused[0]
    return offer
  }

  /** Gives all that can be given, and returns why the rest cannot. Throws what may work later. */
  async #give(row: InvitationRow, things: readonly SharedThing[], guestId: string): Promise<readonly HubError[]> {
    const refused: HubError[] = []
    for (const { kind, id } of things) {
      try {
        await this.#context.shares.give(row.user_id, { kind, id }, guestId, row.role)
      } catch (error) {
        if (!(error instanceof HubError) || error.status >= 500) throw error
        refused.push(error)
      }
    }
    return refused
  }

  /** Removes what nobody needs any more. */
  async sweep(): Promise<void> {
    const before = new Date(Date.now() - KEPT_MS).toISOString()
    await this.#tables.write(async db => {
      await db.deleteFrom('invitation').where('expires_at', '<', before).execute()
      await db
        .deleteFrom('acceptance')
        .where('invitation_id', 'not in', db.selectFrom('invitation').select('id'))
        .execute()
    })
  }

  async #open(guest: UserActor, token: string): Promise<{ readonly row: InvitationRow; readonly offer: Offer }> {
    const { people, shares, error } = this.#context
    this.#guesses.check(guest.userId)
    const row = await this.#tables.read(db =>
      db.selectFrom('invitation').selectAll().where('hash', '=', hashOf(token)).executeTakeFirst(),
    )
    if (!row) {
      this.#guesses.note(guest.userId)
      throw error('invitation_unknown', 'No invitation has this link')
    }
    if (Date.parse(row.expires_at) <= Date.now()) throw error('invitation_expired', 'The invitation has expired')
    const taken = await this.#acceptance(row.id, guest.userId)
    if (taken?.done === 1) throw error('invitation_used', 'You have accepted this invitation already')
    if (!taken && row.used >= row.uses) throw error('invitation_used', 'As many people as it is for have accepted it')
    const owner = await people.actor(row.user_id)
    const all = owner ? await Promise.all(thingsOf(row).map(thing => shares.stillOwned(row.user_id, thing))) : []
    const things = all.filter(thing => thing !== undefined)
    if (!owner || things.length === 0)
      throw error('invitation_expired', 'The one who sent it can no longer share what it is for')
    return { row, offer: { by: owner.name, role: row.role, things, expiresAt: row.expires_at } }
  }

  #acceptance(id: string, userId: string) {
    return this.#tables.read(db =>
      db
        .selectFrom('acceptance')
        .selectAll()
        .where('invitation_id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst(),
    )
  }

  /** Takes one of the uses for a user, unless it has one. Throws `invitation_used`; of several at once only as many get one. */
  async #claim({ id }: InvitationRow, userId: string): Promise<void> {
    const isTaken = await this.#tables.write(async db => {
      const mine = await db
        .selectFrom('acceptance')
        .select('done')
        .where('invitation_id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst()
      if (mine) return mine.done === 0
      const { numUpdatedRows } = await db
        .updateTable('invitation')
        .set(({ eb }) => ({ used: eb('used', '+', 1) }))
        .where('id', '=', id)
        .whereRef('used', '<', 'uses')
        .executeTakeFirst()
      if (numUpdatedRows === 0n) return false
      const created_at = new Date().toISOString()
      await db.insertInto('acceptance').values({ invitation_id: id, user_id: userId, done: 0, created_at }).execute()
      return true
    })
    if (!isTaken) throw this.#context.error('invitation_used', 'As many people as it is for have accepted it')
  }
}

/** The things that an invitation names. */
export function thingsOf({ things }: InvitationRow): readonly InvitedThing[] {
  return JSON.parse(things) as InvitedThing[]
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
