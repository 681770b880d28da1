import type { AuthorizationServer } from 'oauth4webapi'
import type { JsonObject, PluginContext, TableWriter } from 'patchbay/contract'
import type { IssuerClient } from '../tokens/clients.ts'
import type { HeldTokenRow, OauthTables } from './tables.ts'

/** Tokens that wait to be taken back at their issuers, for one user; the oldest of more are left to their end. */
const MOST_WAITING = 50

type Writer = TableWriter<OauthTables>

/** The server of a sign-in, as far as requests to its issuer need it. */
export interface HeldPlace {
  readonly ownerId: string
  readonly config: { readonly url?: string; readonly oauth?: { readonly issuer?: string } }
}

/** The tokens of a sign-in, with the client and the issuer that they are of. */
export interface Kept {
  readonly access: string
  readonly refresh?: string
  /** The private key (JWK) to which the tokens are bound. */
  readonly proofKey?: JsonObject
  readonly client: IssuerClient
  /** The addresses of the issuer that the hub uses later. */
  readonly endpoints: Pick<AuthorizationServer, 'issuer' | 'token_endpoint' | 'revocation_endpoint'>
}

/** The same, with the server that they were for. */
export interface HeldToken extends Kept {
  readonly place: HeldPlace
}

/** A row without what is sealed. */
export type WaitingToken = Pick<HeldTokenRow, 'id' | 'holder' | 'tries'>

/** A sign-in whose tokens are kept here as well. */
interface Holder {
  readonly id: string
  readonly user_id: string
  readonly server_id: string
}

/**
 * The tokens of sign-ins whose issuers take tokens back, in rows that stay when the user or the server is deleted with its sign-ins.
 * They are written in the transactions of those.
 */
export class HeldTokens {
  readonly #context: PluginContext<unknown>

  #due: () => void = () => {}

  constructor(context: PluginContext<unknown>) {
    this.#context = context
  }

  /** `due` is called when some are to be taken back. */
  whenDue(due: () => void): void {
    this.#due = due
  }

  /** Says that sign-ins have ended, once that is committed. */
  ended(): void {
    this.#due()
  }

  get #tables() {
    return this.#context.tables<OauthTables>()
  }

  async keep(db: Writer, { id, user_id, server_id }: Holder, kept: Kept, place: HeldPlace | undefined): Promise<void> {
    if (!place || kept.endpoints.revocation_endpoint === undefined) return
    const row = { id, user_id: null, holder: user_id, server_id, tries: 0, next_at: null }
    await db
      .insertInto('held_token')
      .values({ ...row, sealed: this.#seal(id, { ...tokensOf(kept), place }) })
      .execute()
  }

  /** The sign-in has other tokens. */
  async renew(db: Writer, id: string, kept: Kept): Promise<void> {
    const row = await db.selectFrom('held_token').select('sealed').where('id', '=', id).executeTakeFirst()
    if (!row) return
    const { place } = this.#open(id, row.sealed)
    const sealed = this.#seal(id, { ...tokensOf(kept), place })
    await db.updateTable('held_token').set({ sealed }).where('id', '=', id).execute()
  }

  /** The tokens of a sign-in are left to their end. */
  async drop(db: Writer, id: string): Promise<void> {
    await db.deleteFrom('held_token').where('id', '=', id).execute()
  }

  /** The sign-ins have ended. */
  async give(db: Writer, ids: readonly string[], holder: string): Promise<void> {
    if (ids.length === 0) return
    await db.updateTable('held_token').set(waits()).where('id', 'in', ids).where('next_at', 'is', null).execute()
    const beyond = await db
      .selectFrom('held_token')
      .select('id')
      .where('holder', '=', holder)
      .where('next_at', 'is not', null)
      .orderBy('next_at', 'desc')
      .offset(MOST_WAITING)
      .limit(1_000)
      .execute()
    if (beyond.length === 0) return
    const oldest = beyond.map(row => row.id)
    await db.deleteFrom('held_token').where('id', 'in', oldest).execute()
  }

  /**
   * Finds the sign-ins that were deleted with their server or user: of one that is gone, or all of them, also those of a time when the
   * hub did not run.
   */
  async find(gone?: { readonly server_id: string } | { readonly holder: string }): Promise<void> {
    await this.#tables.write(db =>
      db
        .updateTable('held_token')
        .set(waits())
        .where('next_at', 'is', null)
        .where(eb => eb.and(gone ?? {}))
        .where(eb =>
          eb.not(
            eb.exists(
              eb.selectFrom('credential').select('credential.id').whereRef('credential.id', '=', 'held_token.id'),
            ),
          ),
        )
        .execute(),
    )
    if (gone) this.ended()
  }

  async waiting(most: number): Promise<readonly WaitingToken[]> {
    const now = new Date().toISOString()
    return this.#tables.read(db =>
      db
        .selectFrom('held_token')
        .select(['id', 'holder', 'tries'])
        .where('next_at', '<=', now)
        .orderBy('next_at')
        .limit(most)
        .execute(),
    )
  }

  /** The tokens of a row for one attempt, whose next one is at `next`; undefined for a row that is gone. */
  async attempt({ id, tries }: WaitingToken, next: Date): Promise<HeldToken | undefined> {
    const row = await this.#tables.write(async db => {
      const set = { tries: tries + 1, next_at: next.toISOString() }
      await db.updateTable('held_token').set(set).where('id', '=', id).execute()
      return db.selectFrom('held_token').select('sealed').where('id', '=', id).executeTakeFirst()
    })
    return row && this.#open(id, row.sealed)
  }

  async remove({ id }: WaitingToken): Promise<void> {
    await this.#tables.write(db => this.drop(db, id))
  }

  #seal(id: string, held: HeldToken): string {
    return this.#context.sealing.seal('held_token', { id, user_id: null }, JSON.stringify(held))
  }

  #open(id: string, sealed: string | null): HeldToken {
    return JSON.parse(this.#context.sealing.open('held_token', { id, user_id: null }, sealed ?? '')) as HeldToken
  }
}

function waits() {
  return { next_at: new Date().toISOString() }
}

function tokensOf({ access, refresh, proofKey, client, endpoints }: Kept): Omit<HeldToken, 'place'> {
  return {
    ...{ access, client, endpoints },
    ...(refresh === undefined ? {} : { refresh }),
    ...(proofKey === undefined ? {} : { proofKey }),
  }
}
