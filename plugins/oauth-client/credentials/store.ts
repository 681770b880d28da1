import type { AuthorizationServer } from 'oauth4webapi'
import { isJsonObject, type PluginContext } from 'patchbay/contract'
import type { IssuerClient } from '../tokens/clients.ts'
import type { Tokens } from '../tokens/tokens.ts'
import { type HeldPlace, HeldTokens, type Kept as KeptTokens } from './held-tokens.ts'
import type { CredentialRow, CredentialState, OauthTables } from './tables.ts'

/** The sealed part of a credential. */
export interface Kept extends KeptTokens {
  /** Values that the user entered in place of a sign-in, and the origin or program that they are for. */
  readonly values?: Readonly<Record<string, string>>
  readonly place?: string
}

/** A sign-in, opened. */
export interface Credential extends Omit<CredentialRow, 'sealed'> {
  readonly kept: Kept
}

/** The outcome of a sign-in or a refresh. */
export interface NewTokens {
  readonly userId: string
  readonly serverId: string
  readonly resource: string
  readonly asked: readonly string[]
  readonly client: IssuerClient
  readonly issuer: AuthorizationServer
  readonly tokens: Tokens
}

/** The values that a user entered for a server. */
interface EnteredValues {
  readonly userId: string
  readonly serverId: string
  readonly place: string
  readonly values: Readonly<Record<string, string>>
}

/** Part of a token's life after which it is refreshed, and the least time before its end for one of over 5 min, in ms. */
const LIFE = 0.8
const MARGIN_MS = 60_000
const LONG_MS = 300_000
/** Time after which the tokens of an unused sign-in, or those without a known end, are refreshed. */
export const UNUSED_MS = 7 * 24 * 3_600_000

/** The sign-ins of all users. Tokens are committed before they are returned. */
export class CredentialStore {
  readonly #context: PluginContext<unknown>
  readonly #mostOfUser: number
  readonly held: HeldTokens

  /** `mostOfUser`: sign-ins that are kept for one user. */
  constructor(context: PluginContext<unknown>, mostOfUser: number) {
    this.#context = context
    this.#mostOfUser = mostOfUser
    this.held = new HeldTokens(context)
  }

  get #tables() {
    return this.#context.tables<OauthTables>()
  }

  async find(userId: string, serverId: string): Promise<Credential | undefined> {
    const row = await this.#tables.read(db =>
      db
        .selectFrom('credential')
        .selectAll()
        .where('user_id', '=', userId)
        .where('server_id', '=', serverId)
        .executeTakeFirst(),
    )
    return row && this.#opened(row)
  }

  async of(userId: string): Promise<readonly Credential[]> {
    const rows = await this.#tables.read(db =>
      db.selectFrom('credential').selectAll().where('user_id', '=', userId).orderBy('created_at').execute(),
    )
    return rows.map(row => this.#opened(row))
  }

  /** The issuer at which a client was first used for a server; undefined while nobody has signed in with it. */
  async issuerOf(serverId: string, clientId: string): Promise<string | undefined> {
    const row = await this.#tables.read(db =>
      db
        .selectFrom('credential')
        .select('issuer')
        .where('server_id', '=', serverId)
        .where('client_id', '=', clientId)
        .orderBy('created_at')
        .limit(1)
        .executeTakeFirst(),
    )
    return row?.issuer
  }

  /** The sign-ins to refresh by now, at most 50. */
  async due(now: string): Promise<readonly Credential[]> {
    const rows = await this.#tables.read(db =>
      db
        .selectFrom('credential')
        .selectAll()
        .where('state', '=', 'active')
        .where('refresh_at', '<=', now)
        .orderBy('refresh_at')
        .limit(50)
        .execute(),
    )
    return rows.map(row => this.#opened(row))
  }

  /** Takes the place of the user's earlier sign-in at the server, and of the one used longest ago if there are too many. */
  async signedIn(given: NewTokens): Promise<Credential> {
    const { userId: user_id, serverId: server_id, resource, asked, client, issuer, tokens } = given
    return this.#replace(keptOf(tokens, client, issuer), {
      ...{ user_id, server_id, resource, issuer: issuer.issuer, client_id: client.id },
      scopes_asked: asked.join(' '),
      scopes: tokens.scope ?? asked.join(' '),
      ...timesOf(tokens, new Date()),
    })
  }

  /** Keeps the values that a user entered, in the same way. */
  async entered({ userId, serverId, place, values }: EnteredValues): Promise<Credential> {
    return this.#replace(
      { access: '', client: { id: '', method: 'none', kind: 'given' }, endpoints: { issuer: '' }, values, place },
      {
        ...{
          user_id: userId,
          server_id: serverId,
          resource: URL.parse(place)?.origin ?? '',
          issuer: '',
          client_id: '',
        },
        ...{ scopes_asked: '', scopes: '', expires_at: null, refresh_at: null },
      },
    )
  }

  async #replace(
    kept: Kept,
    given: Omit<CredentialRow, 'id' | 'state' | 'version' | 'created_at' | 'last_used_at' | 'sealed'>,
  ): Promise<Credential> {
    const { user_id, server_id } = given
    const place = kept.values ? undefined : await this.#placeOf(server_id)
    const now = new Date().toISOString()
    const id = crypto.randomUUID()
    const row = {
      ...{ id, ...given, state: 'active' as const, created_at: now, last_used_at: now },
      sealed: this.#context.sealing.seal('credential', { id, user_id }, JSON.stringify(kept)),
    }
    return this.#tables.write(async db => {
      const before = await db
        .selectFrom('credential')
        .select(['id', 'version', 'issuer', 'client_id'])
        .where('user_id', '=', user_id)
        .where('server_id', '=', server_id)
        .executeTakeFirst()
      await db.deleteFrom('credential').where('user_id', '=', user_id).where('server_id', '=', server_id).execute()
      const others = db.selectFrom('credential').select('id').where('user_id', '=', user_id)
      // Ended sign-ins go first, then the one that was used longest ago.
      const surplus = await others
        .orderBy(eb => eb.case().when('state', '=', 'active').then(0).else(1).end())
        .orderBy('last_used_at', 'desc')
        .offset(this.#mostOfUser - 1)
        .limit(1_000)
        .execute()
      const beyond = surplus.map(row => row.id)
      if (beyond.length > 0) await db.deleteFrom('credential').where('id', 'in', beyond).execute()
      // Many issuers end all that a client has of a person with one token: the new ones would end with the former.
      const isSame = before?.issuer === given.issuer && before.client_id === given.client_id
      if (before && isSame) await this.held.drop(db, before.id)
      await this.held.give(db, before && !isSame ? [before.id, ...beyond] : beyond, user_id)
      const version = (before?.version ?? 0) + 1
      await db
        .insertInto('credential')
        .values({ ...row, version })
        .execute()
      await this.held.keep(db, row, kept, place)
      return this.#opened({ ...row, version })
    })
  }

  /** The tokens of a refresh; undefined when the sign-in is another one meanwhile. */
  async refreshed(credential: Credential, tokens: Tokens): Promise<Credential | undefined> {
    const { id, user_id, version, kept } = credential
    const refresh = tokens.refresh ?? kept.refresh
    const next: Kept = { ...kept, access: tokens.access, ...(refresh === undefined ? {} : { refresh }) }
    const changed = {
      ...timesOf({ ...tokens, ...(refresh === undefined ? {} : { refresh }) }, new Date()),
      version: version + 1,
      state: 'active' as const,
      scopes: tokens.scope ?? credential.scopes,
      sealed: this.#context.sealing.seal('credential', { id, user_id }, JSON.stringify(next)),
    }
    const { numUpdatedRows } = await this.#tables.write(async db => {
      const updated = await db
        .updateTable('credential')
        .set(changed)
        .where('id', '=', id)
        .where('version', '=', version)
        .executeTakeFirstOrThrow()
      if (updated.numUpdatedRows > 0n) await this.held.renew(db, id, next)
      return updated
    })
    const { sealed: _, ...rest } = changed
    return numUpdatedRows === 0n ? undefined : { ...credential, ...rest, kept: next }
  }

  /** Ends the use of a sign-in, unless it is another one meanwhile. */
  async end({ id, version }: Credential, state: Exclude<CredentialState, 'active'>): Promise<void> {
    await this.#tables.write(db =>
      db
        .updateTable('credential')
        .set({ state, refresh_at: null })
        .where('id', '=', id)
        .where('version', '=', version)
        .execute(),
    )
  }

  async later({ id, version }: Credential, at: Date): Promise<void> {
    await this.#tables.write(db =>
      db
        .updateTable('credential')
        .set({ refresh_at: at.toISOString() })
        .where('id', '=', id)
        .where('version', '=', version)
        .execute(),
    )
  }

  async used({ id }: Credential): Promise<void> {
    await this.#tables.write(db =>
      db.updateTable('credential').set({ last_used_at: new Date().toISOString() }).where('id', '=', id).execute(),
    )
  }

  /** Deletes a sign-in; its issuer takes the tokens back. */
  async remove({ id, user_id }: Credential): Promise<void> {
    await this.#tables.write(async db => {
      await db.deleteFrom('credential').where('id', '=', id).execute()
      await this.held.give(db, [id], user_id)
    })
    this.held.ended()
  }

  /** Ends a sign-in for the former address of its server; its issuer takes the tokens back. */
  async left(credential: Credential): Promise<void> {
    await this.end(credential, 'resource_changed')
    await this.#tables.write(db => this.held.give(db, [credential.id], credential.user_id))
    this.held.ended()
  }

  async at(serverId: string): Promise<readonly Credential[]> {
    const rows = await this.#tables.read(db =>
      db.selectFrom('credential').selectAll().where('server_id', '=', serverId).execute(),
    )
    return rows.map(row => this.#opened(row))
  }

  async #placeOf(serverId: string): Promise<HeldPlace | undefined> {
    const server = await this.#context.states.target(serverId).catch(() => undefined)
    if (!server) return undefined
    const { url, oauth } = server.config
    const issuer = isJsonObject(oauth) && typeof oauth.issuer === 'string' ? { oauth: { issuer: oauth.issuer } } : {}
    return { ownerId: server.ownerId, config: { ...(typeof url === 'string' ? { url } : {}), ...issuer } }
  }

  #opened({ sealed, ...row }: CredentialRow): Credential {
    const text = this.#context.sealing.open('credential', row, sealed ?? '')
    return { ...row, version: Number(row.version), kept: JSON.parse(text) as Kept }
  }
}

function keptOf({ access, refresh, proofKey }: Tokens, client: IssuerClient, issuer: AuthorizationServer): Kept {
  const { token_endpoint, revocation_endpoint } = issuer
  return {
    access,
    ...(refresh === undefined ? {} : { refresh }),
    ...(proofKey === undefined ? {} : { proofKey }),
    client,
    endpoints: {
      issuer: issuer.issuer,
      ...(token_endpoint === undefined ? {} : { token_endpoint }),
      ...(revocation_endpoint === undefined ? {} : { revocation_endpoint }),
    },
  }
}

/** By the hub's own clock, from now: the issuer's may differ. */
function timesOf({ expiresIn, refresh }: Tokens, now: Date) {
  const lifeMs = expiresIn === undefined ? undefined : expiresIn * 1_000
  const at = (ms: number): string => new Date(now.getTime() + ms).toISOString()
  return {
    expires_at: lifeMs === undefined ? null : at(lifeMs),
    refresh_at: refresh === undefined ? null : at(lifeMs === undefined ? UNUSED_MS : refreshAfterMs(lifeMs)),
  }
}

/** Milliseconds after which a token with this life is refreshed: at 80 %, ± 10 %, a minute before its end if it lives longer than 5. */
function refreshAfterMs(lifeMs: number): number {
  const spread = 0.9 + Math.random() * 0.2
  const usual = Math.min(lifeMs * LIFE * spread, lifeMs > LONG_MS ? lifeMs - MARGIN_MS : lifeMs)
  return Math.max(usual, lifeMs / 2)
}
