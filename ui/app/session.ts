import { Signal } from '@lit-labs/signals'
import { api, useCredential } from '../api/client.ts'
import type { ApiError } from '../api/problem.ts'

/** The signed-in user. */
export interface SessionUser {
  readonly id: string
  readonly name: string
  readonly role: 'admin' | 'user'
  readonly mustChangePassword?: boolean
}

interface Kept {
  readonly token: string
  readonly expiresAt: string
  readonly user: SessionUser
}

/** A proof that the user must give besides the password. */
export interface AskedProof {
  readonly ticket: string
  readonly methods: readonly string[]
}

type Message = { readonly ask: true } | { readonly session: Kept | null }

const KEY = 'patchbay.session'
/** Longest wait for another tab to pass on its session, in milliseconds. */
const ASK_MS = 150
/** A token is renewed when this part of its life is left. */
const RENEW_AT = 0.25

/**
 * The sign-in of this tab. It is stored in sessionStorage; a new tab requests it from the others, and signing out ends it in all
 * of them. The token is renewed before it expires.
 */
export class Session {
  readonly #user = new Signal.State<SessionUser | undefined>(undefined)
  readonly #proving = new Signal.State<((yes: boolean) => void) | undefined>(undefined)
  readonly #mustSet = new Signal.State(false)
  readonly #ended = new Signal.State<ApiError | undefined>(undefined)
  readonly #tabs = new BroadcastChannel('patchbay')
  #kept: Kept | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor() {
    useCredential({
      token: () => this.#kept?.token,
      refused: error => this.#refused(error),
      closed: () => this.#mustSet.set(true),
      prove: () => this.#prove(),
    })
    this.#tabs.addEventListener('message', ({ data }) => this.#receive(data as Message))
  }

  /** Undefined without a sign-in. */
  get user(): SessionUser | undefined {
    return this.#user.get()
  }

  get isAdmin(): boolean {
    return this.user?.role === 'admin'
  }

  /** True when the hub is closed to the user until a second factor is set. */
  get mustSetSecondFactor(): boolean {
    return this.#mustSet.get()
  }

  /** True while a request waits for a new proof of who the user is. */
  get proving(): boolean {
    return this.#proving.get() !== undefined
  }

  /** Ends that wait. */
  proved(yes: boolean): void {
    const end = this.#proving.get()
    this.#proving.set(undefined)
    end?.(yes)
  }

  #prove(): Promise<boolean> {
    this.proved(false)
    return new Promise(resolve => this.#proving.set(resolve))
  }

  /** Why the last session ended, if it was not by signing out. */
  get ended(): ApiError | undefined {
    return this.#ended.get()
  }

  get token(): string | undefined {
    return this.#kept?.token
  }

  /** Finds the session of this tab, or that of another one. */
  async restore(): Promise<void> {
    const own = read()
    if (own) return this.#take(own)
    await new Promise<void>(resolve => {
      const done = (): void => resolve()
      this.#tabs.addEventListener('message', done, { once: true })
      setTimeout(done, ASK_MS)
      this.#tabs.postMessage({ ask: true } satisfies Message)
    })
  }

  /** Returns what must be proved in a second step. Throws ApiError: `login_failed`, `rate_limited`, `hub_unreachable`. */
  async signIn(username: string, password: string): Promise<AskedProof | undefined> {
    return this.acceptOrAsk(await api.post('/api/auth/login', { body: { username, password } }))
  }

  /** Signs in as the user whom a proxy names. Returns the second step if there is one. Throws ApiError: `identity_unknown`. */
  async signInForwarded(): Promise<AskedProof | undefined> {
    return this.acceptOrAsk(await api.post('/api/auth/forwarded'))
  }

  /** The second step. Throws ApiError: `second_factor_failed`, `second_factor_ended`, `login_throttled`. */
  async secondStep({ ticket }: AskedProof, code: string): Promise<void> {
    this.accept(await api.post<Kept>('/api/auth/second-factor', { body: { ticket, code } }))
  }

  /** The second step, by the answer of a passkey. Throws ApiError: `passkey_refused`, `second_factor_ended`, `login_throttled`. */
  async passkeyStep(passkey: object, asked?: AskedProof): Promise<void> {
    const body = { passkey, ...(asked ? { ticket: asked.ticket } : {}) }
    this.accept(await api.post<Kept>('/api/auth/passkeys/sign-in', { body }))
  }

  /** Takes over a session from a response, or returns the proof that it still needs. */
  acceptOrAsk(answer: Kept | { readonly secondFactor: AskedProof }): AskedProof | undefined {
    if ('secondFactor' in answer) return answer.secondFactor
    this.accept(answer)
    return undefined
  }

  /** Takes over a session from a response: of a sign-in, the set-up, or a changed password. */
  accept(session: Kept): void {
    this.#ended.set(undefined)
    this.#take(session)
    this.#tabs.postMessage({ session } satisfies Message)
  }

  /** The same, while the user stays at the page of the second factor until `leave` is called. */
  acceptAndStay(session: Kept): void {
    this.accept(session)
    this.#mustSet.set(true)
  }

  /** The second factor is set: the console opens. */
  leave(): void {
    this.#mustSet.set(false)
  }

  async signOut(): Promise<void> {
    await api.post('/api/auth/logout').catch(() => {})
    this.#drop()
    this.#tabs.postMessage({ session: null } satisfies Message)
  }

  #receive(message: Message): void {
    if ('ask' in message) {
      if (this.#kept) this.#tabs.postMessage({ session: this.#kept } satisfies Message)
    } else if (message.session === null) this.#drop()
    else if (!this.#kept || this.#kept.user.id === message.session.user.id) this.#take(message.session)
  }

  #take(kept: Kept): void {
    this.#kept = kept
    sessionStorage.setItem(KEY, JSON.stringify(kept))
    this.#user.set(kept.user)
    this.#mustSet.set(false)
    clearTimeout(this.#timer)
    const left = new Date(kept.expiresAt).getTime() - Date.now()
    // setTimeout takes 31 bits.
    this.#timer = setTimeout(() => void this.#renew(), Math.min(Math.max(left * (1 - RENEW_AT), 1000), 2 ** 31 - 1))
  }

  async #renew(): Promise<void> {
    try {
      this.accept(await api.post<Kept>('/api/auth/refresh'))
    } catch {
      // The hub may be restarting; an ended token is noticed by the next request.
      if (this.#kept) this.#timer = setTimeout(() => void this.#renew(), 60_000)
    }
  }

  #refused(error: ApiError): void {
    if (!this.#kept) return
    this.#ended.set(error)
    this.#drop()
  }

  #drop(): void {
    clearTimeout(this.#timer)
    this.#kept = undefined
    this.proved(false)
    sessionStorage.removeItem(KEY)
    this.#user.set(undefined)
  }
}

function read(): Kept | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Kept | null
    return kept && new Date(kept.expiresAt).getTime() > Date.now() ? kept : undefined
  } catch {
    return undefined
  }
}

/** The session of this tab. */
export const session = new Session()
