import { codeAt, stepAt } from '../../../plugins/sign-in/totp.ts'
import { type Answer, Client, send } from '../../support/client.ts'
import { type Hub, PASSWORD } from '../../support/hub.ts'
import { until } from '../../support/wait.ts'

/** An authenticator app: codes of one secret, each of a later step than the one before, as the hub wants them. */
export class App {
  readonly secret: string
  #last = 0

  constructor(secret: string) {
    this.secret = secret
  }

  /** A code that was not used yet. Waits where the hub would not take the next one yet. */
  async code(): Promise<string> {
    const margin = (ms: number) => stepAt(Date.now() + ms)
    // The step before counts until the present one ends: not used near that end.
    const earliest = margin(8_000) === margin(0) ? margin(0) - 1 : margin(0)
    const step = Math.max(this.#last + 1, earliest)
    await until(() => step <= margin(0) + 1, { what: 'the next code', timeoutMs: 40_000 })
    this.#last = step
    return codeAt(this.secret, step)
  }

  /** A code of no step that the hub takes now. */
  wrong(): string {
    const near = [-2, -1, 0, 1, 2, 3].map(offset => codeAt(this.secret, stepAt(Date.now()) + offset))
    return ['000000', '111111', '222222', '333333', '444444', '555555', '666666'].find(
      code => !near.includes(code),
    ) as string
  }
}

/** A user with a second factor. */
export interface Guarded {
  readonly name: string
  readonly person: Client
  readonly app: App
  readonly recoveryCodes: string[]
}

/** Sets an app for somebody who is signed in. */
export async function setApp(hub: Hub, before: Client): Promise<Guarded> {
  const { id, secret } = await before.ok('POST', '/api/auth/factors/totp', {})
  const app = new App(secret)
  const { recoveryCodes, session } = await before.ok('POST', '/api/auth/factors/totp/confirm', {
    ...{ id, code: await app.code() },
  })
  return { name: before.name, person: new Client(hub.url, before.name, session.token), app, recoveryCodes }
}

/** A trusted proxy: each request comes from an address of its own, so that limits by address count none of them. */
export const PROXY = { TRUSTED_PROXIES: '127.0.0.1' }
let address = 0

/** A request without a credential, from an address of its own. */
export function sendAnew(hub: Pick<Hub, 'url'>, path: string, body: unknown): Promise<Answer> {
  address += 1
  const from = `203.0.${Math.floor(address / 250)}.${1 + (address % 250)}`
  return send(hub.url, 'POST', path, body, { 'x-forwarded-for': from })
}

/** The first step of a sign-in: the ticket that the password opens. */
export async function ticketOf(hub: Hub, name: string, password = PASSWORD): Promise<string> {
  const answer = await sendAnew(hub, '/api/auth/login', { username: name, password })
  if (answer.json.token !== undefined) throw new Error('The password alone was enough')
  return answer.json.secondFactor.ticket
}

/** The second step. */
export async function secondStep(hub: Hub, ticket: string, code: string): Promise<[number, string]> {
  const { status, json } = await sendAnew(hub, '/api/auth/second-factor', { ticket, code })
  return [status, json.code ?? (json.token === undefined ? '' : 'signed in')]
}
