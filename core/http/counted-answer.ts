import type { ByteAccount } from '../domain/byte-account.ts'
import { freeText, LongText } from '../domain/json/long-text.ts'
import { CountedBody, countedBody, HELD_BYTES, heldBody, pulledBody } from '../request/held-body.ts'
import { codingOf, compressed } from './compress.ts'
import type { PulledParts } from './route.ts'

/** Provides the account that an answer is charged to; a getter, since only long answers need one. */
export interface Charged {
  readonly account: ByteAccount
}

/** Status and headers of an answer. */
export interface AnswerHead {
  readonly status: number
  readonly headers: Headers
}

/**
 * Returns the response with this body, which must not be charged yet; compressed if the request accepts it. Bodies over 64 KiB
 * are charged until the client has received them. Takes ownership of the text. Throws `quota_bytes` or `overloaded`; the text is
 * freed then.
 */
export async function textResponse(
  request: Request,
  { status, headers }: AnswerHead,
  text: LongText,
  charged: Charged,
): Promise<Response> {
  const { byteLength } = text
  if (byteLength > HELD_BYTES) charge(text, charged.account)
  const coding = codingOf(request, headers, byteLength)
  if (coding !== 'none') headers.append('vary', 'Accept-Encoding')
  const sent = coding === 'gzip' ? await zippedText(text, charged) : text
  if (coding === 'gzip') headers.set('content-encoding', 'gzip')
  if (byteLength > HELD_BYTES) charged.account.give(byteLength)
  if (sent.byteLength > HELD_BYTES) {
    // The runtime sends the parts chunked, as the client reads them.
    headers.delete('content-length')
    return new Response(heldBody(sent, charged.account), { status, headers })
  }
  headers.set('content-length', String(sent.byteLength))
  return new Response(joined(sent), { status, headers })
}

/** The response whose body is read while the client takes it. Throws `quota_bytes`, `overloaded`. */
export function pulledResponse(head: AnswerHead, parts: PulledParts, { account }: Charged): Response {
  return new Response(
    pulledBody(() => parts.next(), parts.partBytes, account),
    head,
  )
}

/**
 * The way out for every response that the application gives: a body that is neither counted nor announced to be short is
 * read and charged, and compressed if its end is known. Throws `quota_bytes`, `overloaded`.
 */
export async function countedResponse(request: Request, response: Response, charged: Charged): Promise<Response> {
  const { body, status, headers } = response
  if (body === null || body instanceof CountedBody) return response
  if (Number(headers.get('content-length') ?? Number.NaN) <= HELD_BYTES) return response
  const read = await countedBody(body, charged.account)
  const head = { status, headers: new Headers(headers) }
  if (read instanceof LongText) return textResponse(request, head, read, charged)
  return new Response(read, head)
}

/** Frees the text that does not fit. */
function charge(text: LongText, account: ByteAccount): void {
  if (account.fits(text.byteLength)) return account.add(text.byteLength)
  const refusal = account.refusal(text.byteLength)
  account.dropped(text.byteLength)
  freeText(text)
  throw refusal
}

async function zippedText(text: LongText, { account }: Charged): Promise<LongText> {
  const whole = joined(text)
  try {
    return new LongText([await compressed(whole)])
  } catch (error) {
    if (text.byteLength > HELD_BYTES) account.give(text.byteLength)
    throw error
  } finally {
    freeText(text)
  }
}

function joined({ parts }: LongText): Uint8Array<ArrayBuffer> {
  const [only] = parts
  return only && parts.length === 1 ? only : Buffer.concat(parts)
}
