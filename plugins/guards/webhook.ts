import { createHmac, randomUUID } from 'node:crypto'
import { type GuardedFetch, isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import { visibleName } from 'patchbay/plugin-kit'
import { parseWritten } from './check/json.ts'
import type { Rule } from './rules.ts'

/** Longest content that is sent to a webhook, and longest answer, in characters and bytes. */
const MOST = 1024 * 1024
const LONGEST_REASON = 200
/** Requests to one owner's webhooks at the same time, about the calls of one user. */
const MOST_AT_ONCE = 32

export type Webhook = NonNullable<Rule['webhook']>

/** The request that a webhook is asked about. */
export interface WebhookQuestion {
  readonly rule: string
  readonly on: 'arguments' | 'result'
  readonly method: string
  readonly server: string
  readonly group?: string
  readonly tool?: string
  readonly user: string
}

/** A webhook's answer. */
export type WebhookAnswer =
  | { readonly action: 'pass' }
  | { readonly action: 'refuse'; readonly reason: string }
  | { readonly action: 'change'; readonly value: JsonObject }

/** Asks webhooks about content, at most 32 at a time of one owner for each caller: nobody's calls wait for those of others. */
export class Webhooks {
  readonly #open = new Map<string, number>()

  /** `text`: JSON of the content. `turn`: the owner of the webhook and the caller. Rejects when there is no answer in time, or none that can be read. */
  async ask(
    { url, secret, timeoutMs }: Webhook,
    { turn, fetch, signal }: { turn: string; fetch: GuardedFetch; signal: AbortSignal },
    question: WebhookQuestion,
    text: string,
  ): Promise<WebhookAnswer> {
    if (text.length > MOST) throw new Error('The content is too long for a webhook')
    const open = this.#open.get(turn) ?? 0
    if (open >= MOST_AT_ONCE) throw new Error('Too many requests to webhooks')
    this.#open.set(turn, open + 1)
    const late = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    try {
      const head = JSON.stringify({ version: '1', ...question }).slice(0, -1)
      const body = `${head},"value":${text}}`
      const headers = { 'content-type': 'application/json', accept: 'application/json', ...signed(secret, body) }
      const response = await fetch(url, {
        method: 'POST',
        headers,
        body,
        signal: late,
        headTimeoutMs: timeoutMs,
        maxBytes: MOST,
      })
      if (response.status < 200 || response.status >= 300) {
        response.cancel()
        throw new Error(`The webhook answered ${response.status}`)
      }
      return answerOf(response.status === 204 ? { action: 'pass' } : parseWritten(await response.text()))
    } finally {
      const left = (this.#open.get(turn) ?? 1) - 1
      if (left > 0) this.#open.set(turn, left)
      else this.#open.delete(turn)
    }
  }
}

/** The headers of Standard Webhooks (standardwebhooks.com): an id, the time, and the HMAC-SHA256 of both and the body. */
function signed(secret: string, body: string): Record<string, string> {
  const id = randomUUID()
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}

function answerOf(value: JsonValue): WebhookAnswer {
  const { action, reason, value: changed } = isJsonObject(value) ? value : {}
  if (action === 'pass') return { action }
  // Callers read it within an error of the hub, on one line.
  if (action === 'refuse')
    return { action, reason: typeof reason === 'string' ? visibleName(reason.slice(0, LONGEST_REASON)) : '' }
  if (action === 'change' && isJsonObject(changed)) return { action, value: changed }
  throw new Error('The webhook gave no answer that can be read')
}
