import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { GrantScope, GrantTarget } from 'patchbay/contract'
import type { PluginSealing } from 'patchbay/features'
import type { Client } from './clients.ts'
import { OAuthError } from './errors.ts'
import type { CodeRow, GrantRow, Tables } from './tables.ts'

/** Life of a code. */
const CODE_MS = 60_000
/** Time for which a code that was used or has expired is still known, so that a second use ends its grant. */
const CODE_KEPT_MS = 600_000
/** Time for which the refresh token before the present one is still answered, since clients send one twice at once. */
const GRACE_MS = 60_000
const DAY_MS = 86_400_000
const IDLE_MS = 30 * DAY_MS
const LIFE_MS = 180 * DAY_MS
/** A use is written at most once in this time. */
const USE_WRITTEN_MS = 60_000
const REFRESH_PREFIX = 'pbr_'
const REFRESH_TOKEN = /^pbr_[A-Za-z0-9_-]{63}$/
const [ID_BYTES, GENERATION_BYTES, SIGNATURE_BYTES] = [16, 3, 28]
const REFRESH_PURPOSE = 'refresh token'

/** A decision of a user, to be kept. */
export interface Agreed {
  readonly userId: string
  readonly epoch: number
  readonly client: Client
  readonly redirectUri: string
  readonly redirectHost: string
  readonly base: string
  readonly resource: string
  readonly target: GrantTarget
  readonly scopes: readonly GrantScope[]
  readonly challenge: string
  /** Id of the request. */
  readonly request: string
}

/** The proof that a client sends with a code. */
export interface CodeProof {
  readonly code: string
  readonly clientId: string
  readonly redirectUri: string
  readonly verifier: string
  readonly resource: string | undefined
}

/** A grant from which tokens may be issued, with its present refresh token. */
export interface Issuable {
  readonly grant: GrantRow
  readonly refreshToken: string
}

/** The store of grants, with what has to be known of their users. */
export interface GrantDeps {
  readonly tables: Tables
  readonly sealing: Pick<PluginSealing, 'keys'>
  /** The epoch of a user who may sign in now. */
  epochOf(userId: string): Promise<number | undefined>
  isBlocked(clientId: string): Promise<boolean>
  mostOfUser: number
  /** Called after a grant has ended. `why`: the word of its audit record. */
  ended(grant: GrantRow, why: 'grant_ended' | 'grant_replayed'): void
}

/** Stores the grants of users, issues their codes and refresh tokens, and ends them. */
export class Grants {
  readonly #deps: GrantDeps

  constructor(deps: GrantDeps) {
    this.#deps = deps
  }

  /** Keeps a decision, once: the code, or undefined where the request was decided already. `agreed` undefined: the user refused. */
  async decide(request: string, agreed: Agreed | undefined): Promise<{ code: string } | undefined> {
    const now = Date.now()
    const code = randomBytes(32).toString('base64url')
    return this.#deps.tables.write(async (db, after) => {
      const known = await db.selectFrom('decisions').select('request').where('request', '=', request).executeTakeFirst()
      if (known) return undefined
      await db
        .insertInto('decisions')
        .values({ request, expires_at: at(now + CODE_KEPT_MS) })
        .execute()
      if (!agreed) return { code: '' }
      const grant = newGrant(agreed, now)
      await this.#makeRoom(db, agreed.userId, after)
      await db.insertInto('grants').values(grant).execute()
      const { redirectUri: redirect_uri, challenge } = agreed
      const kept = { redirect_uri, challenge, expires_at: at(now + CODE_MS), used_at: null }
      await db
        .insertInto('codes')
        .values({ hash: hash(code), grant_id: grant.id, ...kept })
        .execute()
      return { code }
    })
  }

  /** The grant of a code that was sent, whatever the code is good for. */
  async ofCode(code: string): Promise<string | undefined> {
    const row = await this.#deps.tables.read(db =>
      db.selectFrom('codes').select('grant_id').where('hash', '=', hash(code)).executeTakeFirst(),
    )
    return row?.grant_id
  }

  ofRefreshToken(token: string): string | undefined {
    return this.#opened(token)?.grantId
  }

  /** Redeems a code, once. Throws `invalid_grant`; a second use ends the grant. */
  async redeem(proof: CodeProof): Promise<Issuable> {
    const now = Date.now()
    const verdict = await this.#deps.tables.write(async (db, after) => {
      const code = await db.selectFrom('codes').selectAll().where('hash', '=', hash(proof.code)).executeTakeFirst()
      const grant = code && (await rowOf(db, code.grant_id))
      if (!code || !grant) return 'The code is not known'
      if (grant.client_id !== proof.clientId) return 'The code was made for another client'
      if (code.used_at !== null) {
        await this.#end(db, after, grant, 'grant_replayed')
        return 'The code was used already, so that what was made from it has ended'
      }
      const wrong = problemOf(code, grant, proof, now)
      if (wrong !== undefined) return wrong
      const next = { generation: 1, generation_at: at(now), last_used_at: at(now) }
      await db
        .updateTable('codes')
        .set({ used_at: at(now) })
        .where('hash', '=', code.hash)
        .execute()
      await db.updateTable('grants').set(next).where('id', '=', grant.id).execute()
      return { ...grant, ...next }
    })
    return this.#issuable(verdict)
  }

  /** Takes a refresh token. Throws `invalid_grant`, and what `check` throws; a token that was replaced before ends the grant. */
  async refresh(token: string, clientId: string, check: (grant: GrantRow) => void): Promise<Issuable> {
    const opened = this.#opened(token)
    if (!opened) throw new OAuthError('invalid_grant', 'The refresh token is not known')
    const now = Date.now()
    const verdict = await this.#deps.tables.write(async (db, after) => {
      const grant = await rowOf(db, opened.grantId)
      if (!grant || grant.generation === 0) return 'What the user agreed to has ended'
      if (grant.client_id !== clientId) return 'The refresh token was made for another client'
      if (isOver(grant, now)) {
        await this.#end(db, after, grant, 'grant_ended')
        return 'The sign-in is too long ago'
      }
      check(grant)
      const { generation } = grant
      const isPrevious = opened.generation === generation - 1 && opened.generation > 0
      if (isPrevious && now - Date.parse(grant.generation_at) <= GRACE_MS) return grant
      if (opened.generation !== generation) {
        await this.#end(db, after, grant, 'grant_replayed')
        return 'The refresh token was replaced before, so that what was made from it has ended'
      }
      const next = { generation: generation + 1, generation_at: at(now), last_used_at: at(now) }
      await db.updateTable('grants').set(next).where('id', '=', grant.id).execute()
      return { ...grant, ...next }
    })
    return this.#issuable(verdict)
  }

  /** A grant that is in force. */
  async inForce(id: string): Promise<GrantRow | undefined> {
    const grant = await this.#deps.tables.read(db => rowOf(db, id))
    return !grant || grant.generation === 0 || isOver(grant, Date.now()) ? undefined : grant
  }

  /** A grant that is in force; its use is noted. */
  async used(id: string): Promise<GrantRow | undefined> {
    const now = Date.now()
    const grant = await this.inForce(id)
    if (!grant) return undefined
    if (now - Date.parse(grant.last_used_at) > USE_WRITTEN_MS)
      await this.#deps.tables.write(db =>
        db
          .updateTable('grants')
          .set({ last_used_at: at(now) })
          .where('id', '=', id)
          .execute(),
      )
    return grant
  }

  /** The grants of a user that are in force, the newest first. */
  async list(userId: string): Promise<readonly GrantRow[]> {
    const epoch = await this.#deps.epochOf(userId)
    const rows = await this.#deps.tables.read(db =>
      db
        .selectFrom('grants')
        .selectAll()
        .where('user_id', '=', userId)
        .where('generation', '>', 0)
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .execute(),
    )
    return rows.filter(row => row.epoch === epoch && !isOver(row, Date.now()))
  }

  /** Ends the grants that `which` names; the number of them. */
  async end(which: { readonly id: string; readonly userId?: string } | { readonly clientId: string }): Promise<number> {
    return this.#deps.tables.write(async (db, after) => {
      const all = db.selectFrom('grants').selectAll()
      const rows =
        'clientId' in which
          ? await all.where('client_id', '=', which.clientId).execute()
          : await all.where('id', '=', which.id).execute()
      const own = rows.filter(row => !('userId' in which) || row.user_id === which.userId)
      for (const row of own) await this.#end(db, after, row, 'grant_ended')
      return own.length
    })
  }

  /** Removes what has expired, and grants of a former epoch or without a use of their code. */
  async sweep(): Promise<void> {
    const now = Date.now()
    const rows = await this.#deps.tables.read(db => db.selectFrom('grants').selectAll().execute())
    for (const row of rows) {
      const isUnused = row.generation === 0 && now - Date.parse(row.created_at) > CODE_KEPT_MS
      if (isUnused || isOver(row, now)) await this.end({ id: row.id })
      else if ((await this.#deps.epochOf(row.user_id)) !== row.epoch) await this.end({ id: row.id })
    }
    await this.#deps.tables.write(async db => {
      await db
        .deleteFrom('codes')
        .where('expires_at', '<', at(now - CODE_KEPT_MS))
        .execute()
      await db.deleteFrom('decisions').where('expires_at', '<', at(now)).execute()
    })
  }

  async #issuable(verdict: GrantRow | string): Promise<Issuable> {
    if (typeof verdict === 'string') throw new OAuthError('invalid_grant', verdict)
    const { id, user_id, epoch, client_id, generation } = verdict
    if ((await this.#deps.epochOf(user_id)) !== epoch || (await this.#deps.isBlocked(client_id))) {
      await this.end({ id })
      throw new OAuthError('invalid_grant', 'What the user agreed to has ended')
    }
    return { grant: verdict, refreshToken: this.#refreshToken(id, generation) }
  }

  async #end(db: Writer, after: After, grant: GrantRow, why: 'grant_ended' | 'grant_replayed'): Promise<void> {
    await db.deleteFrom('codes').where('grant_id', '=', grant.id).execute()
    await db.deleteFrom('grants').where('id', '=', grant.id).execute()
    after(() => this.#deps.ended(grant, why))
  }

  /** The grants that were not used for longest end when a user has too many. */
  async #makeRoom(db: Writer, userId: string, after: After): Promise<void> {
    const rows = await db
      .selectFrom('grants')
      .selectAll()
      .where('user_id', '=', userId)
      .orderBy('last_used_at')
      .execute()
    const surplus = rows.slice(0, Math.max(0, rows.length + 1 - this.#deps.mostOfUser))
    for (const row of surplus) await this.#end(db, after, row, 'grant_ended')
  }

  /** The same text for the same generation, so that clients that refresh twice at once keep the same token. */
  #refreshToken(grantId: string, generation: number): string {
    const bytes = Buffer.alloc(ID_BYTES + GENERATION_BYTES)
    bytes.write(grantId.replaceAll('-', ''), 'hex')
    bytes.writeUIntBE(generation, ID_BYTES, GENERATION_BYTES)
    const [present] = this.#deps.sealing.keys(REFRESH_PURPOSE)
    if (!present) throw new Error('The hub has no key')
    return `${REFRESH_PREFIX}${Buffer.concat([bytes, signature(present.key, bytes)]).toString('base64url')}`
  }

  #opened(token: string): { readonly grantId: string; readonly generation: number } | undefined {
    if (!REFRESH_TOKEN.test(token)) return undefined
    const whole = Buffer.from(token.slice(REFRESH_PREFIX.length), 'base64url')
    const bytes = whole.subarray(0, ID_BYTES + GENERATION_BYTES)
    const signed = whole.subarray(bytes.length)
    const keys = this.#deps.sealing.keys(REFRESH_PURPOSE)
    if (!keys.some(({ key }) => timingSafeEqual(signature(key, bytes), signed))) return undefined
    const hex = bytes.toString('hex', 0, ID_BYTES)
    const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)]
    return { grantId: parts.join('-'), generation: bytes.readUIntBE(ID_BYTES, GENERATION_BYTES) }
  }
}

type Writer = Parameters<Parameters<Tables['write']>[0]>[0]
type After = Parameters<Parameters<Tables['write']>[0]>[1]

function newGrant(agreed: Agreed, now: number): GrantRow {
  const { userId, client, target, scopes, base, resource, redirectHost, epoch } = agreed
  return {
    ...{ id: crypto.randomUUID(), user_id: userId, client_id: client.id, client_name: client.name },
    ...{ client_kind: client.kind, client_method: client.method, redirect_host: redirectHost, base, resource, epoch },
    target: target.kind,
    group_id: target.kind === 'group' ? target.id : null,
    server_id: target.kind === 'server' ? target.id : null,
    ...{ scopes: scopes.join(' '), generation: 0, generation_at: at(now) },
    ...{ created_at: at(now), last_used_at: at(now), expires_at: at(now + LIFE_MS) },
  }
}

function rowOf(db: Pick<Writer, 'selectFrom'>, id: string): Promise<GrantRow | undefined> {
  return db.selectFrom('grants').selectAll().where('id', '=', id).executeTakeFirst()
}

function isOver({ expires_at, last_used_at }: GrantRow, now: number): boolean {
  return now >= Date.parse(expires_at) || now - Date.parse(last_used_at) > IDLE_MS
}

function problemOf(code: CodeRow, grant: GrantRow, proof: CodeProof, now: number): string | undefined {
  if (now >= Date.parse(code.expires_at)) return 'The code has expired'
  if (code.redirect_uri !== proof.redirectUri) return 'The redirect URI is another than in the request'
  if (proof.resource !== undefined && proof.resource !== grant.resource)
    return 'The resource is another than in the request'
  const challenge = createHash('sha256').update(proof.verifier).digest('base64url')
  return challenge === code.challenge ? undefined : 'The code verifier is wrong'
}

function at(ms: number): string {
  return new Date(ms).toISOString()
}

function signature(key: Uint8Array, bytes: Uint8Array): Buffer {
  return createHmac('sha256', key).update(bytes).digest().subarray(0, SIGNATURE_BYTES)
}

function hash(code: string): string {
  return createHash('sha256').update(code).digest('base64url')
}

/** The servers that a grant opens. */
export function targetOf({ target, group_id, server_id }: GrantRow): GrantTarget {
  return target === 'all' ? { kind: 'all' } : { kind: target, id: (group_id ?? server_id) as string }
}
