import { HubError, type PluginContext } from 'patchbay/contract'
import type { CredentialTarget } from 'patchbay/features'
import { bounded } from '../bounded.ts'
import type { Credential, CredentialStore } from '../credentials/store.ts'
import { UNUSED_MS } from '../credentials/store.ts'
import { fetchAround } from '../discovery/reach.ts'
import type { Clients } from './clients.ts'
import { TokenEndpoint, TokenRefusal } from './tokens.ts'

/** Waits after failures in a row, in milliseconds: twice the last, between these. */
const LEAST_WAIT_MS = 5_000
const MOST_WAIT_MS = 300_000
/** Time after its last use for which a sign-in is refreshed ahead of time. */
const IN_USE_MS = 24 * 3_600_000

/** The server of a sign-in, as far as a refresh needs it. */
type Place = Pick<CredentialTarget, 'ownerId' | 'config'>

interface Failure {
  readonly count: number
  readonly atMs: number
  readonly untilMs: number
  readonly error: HubError
}

/** Refreshes sign-ins, one request at a time for each, however many callers want it. */
export class Refresher {
  readonly #context: PluginContext<unknown>
  readonly #store: CredentialStore
  readonly #clients: Clients
  readonly #running = new Map<string, Promise<Credential | undefined>>()
  readonly #failures = new Map<string, Failure>()
  readonly #refreshedAt = new Map<string, number>()

  constructor(context: PluginContext<unknown>, store: CredentialStore, clients: Clients) {
    this.#context = context
    this.#store = store
    this.#clients = clients
  }

  /** Milliseconds since the hub last got tokens for it; infinite when it did not in this process. */
  sinceMs({ id }: Credential): number {
    return Date.now() - (this.#refreshedAt.get(id) ?? Number.NEGATIVE_INFINITY)
  }

  noted({ id }: Credential): void {
    bounded(this.#refreshedAt).set(id, Date.now())
  }

  /**
   * The sign-in with new tokens; undefined when its user must sign in again. Throws `issuer_unreachable`, without asking
   * again within 5 s of a failure; `ahead` of time within 5 s to 5 min.
   */
  refresh(credential: Credential, server: Place, ahead = false): Promise<Credential | undefined> {
    const running = this.#running.get(credential.id)
    if (running !== undefined) return running
    const work = this.#refresh(credential, server, ahead).finally(() => this.#running.delete(credential.id))
    this.#running.set(credential.id, work)
    return work
  }

  /**
   * Refreshes what is due, of users who are not disabled; a token that did not end yet is used until then, whatever happens. One
   * that is not in use is due once a week.
   */
  async due(): Promise<void> {
    const now = Date.now()
    const found = await this.#store.due(new Date(now).toISOString())
    // All at once: an issuer that is slow holds up its own users alone.
    await Promise.all(found.map(credential => this.#due(credential, now)))
  }

  async #due(credential: Credential, now: number): Promise<void> {
    const { user_id: userId, server_id: serverId, last_used_at: usedAt, created_at: createdAt } = credential
    const unusedUntil = Date.parse(createdAt) + UNUSED_MS
    const isUnused = now - (usedAt === null ? 0 : Date.parse(usedAt)) > IN_USE_MS
    if (isUnused && now < unusedUntil) return this.#store.later(credential, new Date(unusedUntil))
    if (!(await this.#context.people.actor(userId))) return this.#store.later(credential, new Date(now + UNUSED_MS))
    const server = await this.#context.states.target(serverId).catch(() => undefined)
    // Without it the rows behind this one would not come to their turn.
    if (!server) return this.#store.later(credential, new Date(now + MOST_WAIT_MS))
    const next = await this.refresh(credential, server, true).catch(() => undefined)
    if (next && isUnused) await this.#store.later(next, new Date(now + UNUSED_MS))
  }

  async #refresh(given: Credential, server: Place, ahead: boolean): Promise<Credential | undefined> {
    const credential = await this.#store.find(given.user_id, given.server_id)
    if (credential?.state !== 'active') return undefined
    if (credential.version > given.version) return credential
    const { refresh } = credential.kept
    const failed = this.#failures.get(credential.id)
    if (failed && Date.now() < (ahead ? failed.untilMs : failed.atMs + LEAST_WAIT_MS)) throw failed.error
    if (refresh === undefined) return undefined
    const { kept, resource } = credential
    const fetch = fetchAround(this.#context, server)
    const endpoint = new TokenEndpoint(this.#context, fetch, kept.endpoints, kept.client, kept.proofKey)
    try {
      const tokens = await endpoint.refresh(refresh, omitsResource(server) ? undefined : resource)
      const next =
        (await this.#store.refreshed(credential, tokens)) ?? (await this.#store.find(given.user_id, given.server_id))
      this.#failures.delete(credential.id)
      if (!next) return undefined
      this.noted(next)
      this.#context.states.credentialChanged(next.server_id, next.user_id, 'renewed')
      return next
    } catch (cause) {
      if (cause instanceof TokenRefusal) return this.#ended(credential, cause)
      throw await this.#failed(credential, cause)
    }
  }

  /** The issuer does not take the refresh token, or the client. Another process may have used it meanwhile. */
  async #ended(credential: Credential, { error }: TokenRefusal): Promise<Credential | undefined> {
    const now = await this.#store.find(credential.user_id, credential.server_id)
    if (now && now.version > credential.version) return now
    const { client } = credential.kept
    const isClient = error === 'invalid_client' || error === 'unauthorized_client'
    if (isClient && client.kind === 'registered') await this.#clients.forget(credential.issuer, client.id)
    await this.#store.end(credential, isClient && client.kind === 'given' ? 'refused' : 'sign_in_needed')
    this.#context.log.info('A sign-in has ended: the issuer did not renew it', {
      ...{ serverId: credential.server_id, userId: credential.user_id, issuer: credential.issuer, error },
    })
    return undefined
  }

  async #failed(credential: Credential, cause: unknown): Promise<unknown> {
    if (!(cause instanceof HubError)) return cause
    const count = (this.#failures.get(credential.id)?.count ?? 0) + 1
    const waitMs = Math.min(LEAST_WAIT_MS * 2 ** (count - 1), MOST_WAIT_MS)
    bounded(this.#failures).set(credential.id, { count, atMs: Date.now(), untilMs: Date.now() + waitMs, error: cause })
    await this.#store.later(credential, new Date(Date.now() + waitMs))
    return cause
  }
}

function omitsResource({ config: { oauth } }: Place): boolean {
  return typeof oauth === 'object' && oauth !== null && 'resource' in oauth && oauth.resource === 'omit'
}
