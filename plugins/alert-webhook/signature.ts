import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'

/** The bytes of a Standard Webhooks secret; undefined for anything else. */
export function secretKey(secret: string): Buffer | undefined {
  if (!secret.startsWith(PREFIX)) return undefined
  const text = secret.slice(PREFIX.length)
  const key = Buffer.from(text, 'base64')
  const isWhole = key.toString('base64') === text
  return isWhole && key.length >= 24 && key.length <= 64 ? key : undefined
}

/** `v1,` and the base64 HMAC-SHA256 of id, timestamp (seconds) and body, joined by points. */
export function signature(
  key: Uint8Array,
  { id, timestamp, body }: { readonly id: string; readonly timestamp: string; readonly body: string },
): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}
