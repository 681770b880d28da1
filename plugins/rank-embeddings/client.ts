import { type GuardedFetch, HubError, isJsonObject, type JsonValue } from 'patchbay/contract'

const REQUEST_MS = 15_000
/** 64 vectors of 3,072 numbers as text. */
const MOST_BYTES = 16 * 1024 * 1024
const MOST_DIMENSIONS = 8_192

/** Endpoint and model of the vectors. */
export interface EmbeddingsOptions {
  /** Up to and without `/embeddings`. */
  readonly url: string
  readonly model: string
  readonly dimensions?: number | undefined
  readonly key: () => Promise<string | undefined>
  readonly fetch: GuardedFetch
}

/**
 * The vectors of texts, of length 1, from an endpoint with the protocol of OpenAI's `POST /embeddings`. Rejects with HubError:
 * `authorization_required` if the key is rejected, `rate_limited` with its delay, else `upstream_protocol` and errors of the
 * connection.
 */
export async function embed(
  { url, model, dimensions, key, fetch }: EmbeddingsOptions,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const secret = await key()
  const size = dimensions === undefined ? {} : { dimensions }
  const response = await fetch(`${url.replace(/\/+$/, '')}/embeddings`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
    },
    body: JSON.stringify({ model, input: texts, encoding_format: 'float', ...size }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
    headTimeoutMs: REQUEST_MS,
    idleTimeoutMs: REQUEST_MS,
    maxBytes: MOST_BYTES,
  })
  if (response.status !== 200) {
    response.cancel()
    throw failureOf(response.status, response.headers['retry-after'])
  }
  return vectorsOf(await response.text(), texts.length)
}

/** Error with the status only: a body may repeat the texts. */
function failureOf(status: number, retryAfter: string | undefined): HubError {
  const message = `The endpoint of embeddings answered ${status}`
  if (status === 401 || status === 403) return new HubError('authorization_required', message)
  const seconds = Number(retryAfter)
  if (status === 429)
    return new HubError('rate_limited', message, { retryAfterSeconds: seconds > 0 && seconds <= 3_600 ? seconds : 60 })
  return new HubError('upstream_protocol', message)
}

function vectorsOf(text: string, count: number): readonly Float32Array[] {
  let answer: JsonValue
  try {
    answer = JSON.parse(text) as JsonValue
  } catch {
    throw malformed('no JSON')
  }
  const data = isJsonObject(answer) && Array.isArray(answer.data) ? answer.data : []
  if (data.length !== count) throw malformed(`${data.length} vectors for ${count} texts`)
  const vectors: Float32Array[] = []
  for (const [at, item] of data.entries()) {
    const { index = at, embedding } = isJsonObject(item) ? item : {}
    if (typeof index !== 'number' || !(index >= 0 && index < count) || vectors[index]) throw malformed('a wrong index')
    vectors[index] = unitVector(embedding)
  }
  const length = vectors[0]?.length
  if (vectors.some(vector => vector.length !== length)) throw malformed('vectors of several lengths')
  return vectors
}

function unitVector(numbers: JsonValue | undefined): Float32Array {
  if (!Array.isArray(numbers) || numbers.length === 0 || numbers.length > MOST_DIMENSIONS) throw malformed('no vector')
  const vector = Float32Array.from(numbers, Number)
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  if (!Number.isFinite(length) || length === 0) throw malformed('a vector that is none')
  return vector.map(value => value / length)
}

function malformed(what: string): HubError {
  return new HubError('upstream_protocol', `The endpoint of embeddings answered ${what}`)
}
