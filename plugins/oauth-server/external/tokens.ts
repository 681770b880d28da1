import { createHash } from 'node:crypto'
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose'
import { type GrantScope, HubError } from 'patchbay/contract'
import type { GrantedCredential, PluginPeople, TokenVerifier, VerifiedToken } from 'patchbay/features'
import { shownName } from '../clients.ts'
import { scopesOf } from '../tables.ts'
import type { ExternalAccount, ExternalAccounts } from '../types.ts'
import type { ExternalIssuer } from './config.ts'
import type { IssuerKeys } from './keys.ts'

/** Most difference between the clocks of issuer and hub, in seconds. */
const CLOCK_TOLERANCE_S = 60
const LONGEST_SUBJECT = 255
/** Begins the ids of grants that issuers keep. */
const OWN = 'external '
/** Tokens whose first epoch is kept, so that a withdrawal of all credentials of a user ends them too. */
const MOST_SEEN = 10_000
/** Claims that only ID tokens have; `cnf` binds a token to a key, which a Bearer token cannot prove. */
const FOREIGN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 'cnf']

/** An issuer with its keys. */
interface Known {
  readonly config: ExternalIssuer
  readonly keys: Pick<IssuerKeys, 'find'>
}

interface ExternalDeps {
  readonly issuers: readonly Known[]
  readonly people: Pick<PluginPeople, 'byId'>
  /** The plugin that knows accounts of users; undefined while it does not run. */
  accounts(): ExternalAccounts | undefined
  /** Makes the error for a user who is not known here. */
  unknown(message: string): HubError
}

/** Verifies access tokens (JWT) of issuers other than the hub. */
export class ExternalTokens implements TokenVerifier {
  readonly #deps: ExternalDeps
  readonly #issuers: ReadonlyMap<string, Known>
  readonly #seen = new Map<string, number>()
  /** Ids of credentials whose user has unlinked the account, with the time at which their last token ends. */
  readonly #ended = new Map<string, number>()
  readonly #open = new Map<string, { readonly account: string; endMs: number }>()

  constructor(deps: ExternalDeps) {
    this.#deps = deps
    this.#issuers = new Map(deps.issuers.map(known => [known.config.issuer, known]))
  }

  async verify(token: string): Promise<VerifiedToken | undefined> {
    const known = this.#issuers.get(issuerOf(token) ?? '')
    if (!known) return undefined
    const { config } = known
    const claims = await checked(token, known)
    const resources = resourcesOf(claims, config)
    const account = accountOf(claims, config)
    const scopes = scopesIn(claims, config)
    const userId = await this.#userOf(account, claims, config)
    const person = await this.#deps.people.byId(userId)
    const { teams } = config.claims
    if (teams !== undefined && person?.disabled === false)
      await this.#deps.accounts()?.setTeams(userId, config.issuer, teams, claims)
    const clientId = clientOf(claims)
    const expiresAtMs = (Number(claims.exp) + CLOCK_TOLERANCE_S) * 1_000
    // The addresses are part of it: sessions are kept by this id, and a session is opened by one address.
    const grantId = `${OWN}${hash([accountKey(account), clientId, ...(resources ?? ['*'])].join('\n'))}`
    const credential: GrantedCredential = {
      ...{ kind: 'grant', grantId, clientId, label: shownName(clientId), scopes, expiresAtMs },
      ...(resources ? { resources } : {}),
    }
    this.#note(grantId, account, expiresAtMs)
    return { userId, epoch: this.#firstEpoch(token, person?.epoch ?? -1), credential }
  }

  hasEnded({ grantId }: GrantedCredential): boolean {
    return this.#ended.size > 0 && this.#ended.has(grantId)
  }

  /** Nothing but its tokens is known of what an issuer allows: it holds until the last token that the hub has seen expires. */
  isInForce(credential: GrantedCredential): boolean {
    const { grantId, expiresAtMs } = credential
    if (!grantId.startsWith(OWN) || this.hasEnded(credential)) return false
    return Date.now() < (this.#open.get(grantId)?.endMs ?? expiresAtMs)
  }

  /** The issuer keeps the record, and the hub knows its tokens alone. */
  grants(): undefined {
    return undefined
  }

  /** Ends the credentials of an account that its user has unlinked. */
  unlinked(account: ExternalAccount): void {
    const key = accountKey(account)
    for (const [grantId, open] of this.#open) {
      if (open.account !== key) continue
      this.#ended.set(grantId, open.endMs)
      this.#open.delete(grantId)
    }
  }

  #note(grantId: string, account: ExternalAccount, endMs: number): void {
    const now = Date.now()
    // The account is linked, again perhaps.
    this.#ended.delete(grantId)
    for (const [id, end] of this.#ended) if (end <= now) this.#ended.delete(id)
    const open = this.#open.get(grantId)
    if (open) open.endMs = Math.max(open.endMs, endMs)
    else bounded(this.#open).set(grantId, { account: accountKey(account), endMs })
  }

  /** The epoch of the user when the hub first saw the token. */
  #firstEpoch(token: string, epoch: number): number {
    const key = hash(token)
    const first = this.#seen.get(key)
    if (first !== undefined) return first
    bounded(this.#seen).set(key, epoch)
    return epoch
  }

  async #userOf(account: ExternalAccount, claims: JWTPayload, { provision }: ExternalIssuer): Promise<string> {
    const accounts = this.#deps.accounts()
    if (!accounts)
      throw new HubError('starting', 'Cannot find the user of a token: the plugin "sign-in" is not running', {
        retryAfterSeconds: 5,
      })
    const found = await accounts.find(account)
    if (found !== undefined) return found
    if (provision !== 'create')
      throw this.#deps.unknown(`No user of this hub has linked this account of ${account.issuer}`)
    if (claims.sub !== undefined && claims.sub === clientOf(claims))
      throw this.#deps.unknown(`A client of ${account.issuer} has signed in for itself, which makes no user`)
    return accounts.create(account, nameIn(claims))
  }
}

async function checked(token: string, { config, keys }: Known): Promise<JWTPayload> {
  const { issuer, algorithms } = config
  try {
    const { payload } = await jwtVerify(token, header => keys.find(header), {
      ...{ issuer, algorithms, clockTolerance: CLOCK_TOLERANCE_S, requiredClaims: ['exp', 'aud'] },
    })
    if (typeof payload.iat === 'number' && payload.iat > Date.now() / 1_000 + CLOCK_TOLERANCE_S)
      throw new Error('its "iat" is in the future: check the clocks of issuer and hub')
    const foreign = FOREIGN_CLAIMS.find(name => name in payload)
    if (foreign !== undefined) throw new Error(`its "${foreign}" shows that it is no Bearer token for resources`)
    return payload
  } catch (error) {
    if (error instanceof HubError) throw error
    if (error instanceof errors.JWTExpired)
      throw new HubError('token_expired', 'The token has expired', { hint: 'The client gets a new one by itself.' })
    throw invalid(config, (error as Error).message, error)
  }
}

/** The addresses for which a token is; undefined for one with the configured audience, which is for all. */
function resourcesOf({ aud }: JWTPayload, config: ExternalIssuer): readonly string[] | undefined {
  const all = typeof aud === 'string' ? [aud] : (aud ?? [])
  if (config.audience !== undefined) {
    if (all.includes(config.audience)) return undefined
    throw new HubError('token_wrong_audience', `The token of ${config.issuer} is not for the audience of this hub`)
  }
  return all.flatMap(one => {
    const url = typeof one === 'string' ? URL.parse(one) : null
    return url && url.search === '' && url.hash === '' ? [url.href.replace(/\/$/, '')] : []
  })
}

function accountOf(claims: JWTPayload, config: ExternalIssuer): ExternalAccount {
  const subject = claims[config.claims.user]
  if (typeof subject !== 'string' || subject === '' || subject.length > LONGEST_SUBJECT)
    throw invalid(config, `it has no claim "${config.claims.user}" with a user`)
  return { issuer: config.issuer, subject }
}

function scopesIn(claims: JWTPayload, config: ExternalIssuer): readonly GrantScope[] {
  const value = claims[config.claims.scope]
  const scopes = scopesOf(Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : '')
  if (scopes.length > 0) return scopes
  throw new HubError('insufficient_scope', `The claim "${config.claims.scope}" has neither mcp:tools nor mcp:read`)
}

function clientOf({ client_id: id, azp, appid }: JWTPayload): string {
  return [id, azp, appid].find((one): one is string => typeof one === 'string' && one !== '') ?? 'unknown'
}

function nameIn({ preferred_username: name, email }: JWTPayload): string {
  const names = [name, email].filter(one => typeof one === 'string' && one !== '') as string[]
  return names[0]?.split('@')[0] ?? 'user'
}

function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss
  } catch {
    return undefined
  }
}

function invalid({ issuer }: ExternalIssuer, why: string, cause?: unknown): HubError {
  return new HubError('token_invalid', `The token of ${issuer} is not valid: ${why}`, { cause, hint: 'Sign in again.' })
}

function accountKey({ issuer, subject }: ExternalAccount): string {
  return JSON.stringify([issuer, subject])
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** The map, with room for one more entry. */
function bounded<T>(map: Map<string, T>): Map<string, T> {
  for (const oldest of map.keys()) {
    if (map.size < MOST_SEEN) break
    map.delete(oldest)
  }
  return map
}
