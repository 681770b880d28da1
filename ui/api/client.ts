import { ApiError } from './problem.ts'

/** Path at which the hub is mounted, without a slash at the end: empty, or such as `/hub`. */
export const basePath = document.documentElement.dataset.base ?? ''

/** Options of a request. */
export interface RequestOptions {
  /** Absent or empty values are left out; lists repeat their name. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>> | undefined
  /** Sent as JSON. */
  readonly body?: unknown
  /** Revision of the record as last read: the write is refused with `version_conflict` when it has another one now. */
  readonly revision?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A page of a list. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly total: number
  readonly limit: number
  readonly offset: number
}

/** Functions of the session that the client uses. */
export interface Credential {
  token(): string | undefined
  /** Called with the error of a token that is not valid any more. */
  refused(error: ApiError): void
  /** Called when the user must set a second factor before anything else. */
  closed(): void
  /** Called when a request needs a new proof of who the user is; true: it was given. */
  prove(): Promise<boolean>
}

let credential: Credential = { token: () => undefined, refused: () => {}, closed: () => {}, prove: async () => false }

/** Sets the credential of all requests; called once by the session. */
export function useCredential(given: Credential): void {
  credential = given
}

/** Address of a path of the hub, such as `/api/servers`. */
export function urlOf(path: string, query: RequestOptions['query'] = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === '') continue
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one))
  }
  const text = search.toString()
  return `${basePath}${path}${text === '' ? '' : `?${text}`}`
}

/** The token that each answer's request had. */
const sentWith = new WeakMap<Response, string | undefined>()

/** Sends a request with the session's token; any status is an answer. Throws ApiError `hub_unreachable`. */
export async function send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const headers = new Headers(options.headers)
  const token = credential.token()
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  if (options.revision !== undefined) headers.set('if-match', `"${options.revision}"`)
  const init: RequestInit = {
    method,
    headers,
    cache: 'no-store',
    ...(options.signal ? { signal: options.signal } : {}),
  }
  if (options.body instanceof Blob) init.body = options.body
  else if (options.body !== undefined) {
    headers.set('content-type', 'application/json')
    init.body = JSON.stringify(options.body)
  }
  try {
    const response = await fetch(urlOf(path, options.query), init)
    sentWith.set(response, token)
    return response
  } catch (error) {
    if (options.signal?.aborted) throw error
    throw new ApiError(0, { code: 'hub_unreachable', detail: 'The hub does not answer', cause: String(error) })
  }
}

/** Codes about the credential of the request; other ones are about what its body has. */
const OF_TOKEN = /^(?:unauthenticated|token_)/

/** Converts an unsuccessful response to an error. */
export async function problemOf(response: Response): Promise<ApiError> {
  const body = await response.json().catch(() => ({ detail: response.statusText }))
  const error = new ApiError(response.status, body as Record<string, unknown>, response.headers.get('retry-after'))
  // A refusal of the token before the present one says nothing.
  const isPresent = sentWith.get(response) === credential.token()
  if (response.status === 401 && OF_TOKEN.test(error.code) && isPresent) credential.refused(error)
  if (error.code === 'second_factor_required') credential.closed()
  return error
}

/** Number of times that a read request is repeated after a rate limit, and the longest wait before it. */
const REPEATS = 3
const LONGEST_WAIT_S = 5

async function request<T>(method: string, path: string, options?: RequestOptions, repeats = REPEATS): Promise<T> {
  const response = await send(method, path, options)
  const waitSeconds = Number(response.headers.get('retry-after'))
  if (response.status === 429 && method === 'GET' && repeats > 0 && waitSeconds <= LONGEST_WAIT_S) {
    await new Promise(resolve => setTimeout(resolve, waitSeconds * 1000))
    return request(method, path, options, repeats - 1)
  }
  if (!response.ok) {
    const error = await problemOf(response)
    if (error.code === 'reauth_required' && (await credential.prove())) return request(method, path, options, 0)
    throw error
  }
  if (response.status === 204) return undefined as T
  return readJson<T>(response)
}

const utf8 = new TextDecoder()

/** Content of a response. For a megabyte, `response.json()` takes the main thread of Chromium twice as long. */
async function readJson<T>(response: Response): Promise<T> {
  return JSON.parse(utf8.decode(await response.arrayBuffer())) as T
}

/** The hub's REST API. Each function throws ApiError for an unsuccessful response. */
export const api = {
  get: <T>(path: string, options?: RequestOptions) => request<T>('GET', path, options),
  post: <T>(path: string, options?: RequestOptions) => request<T>('POST', path, options),
  put: <T>(path: string, options?: RequestOptions) => request<T>('PUT', path, options),
  patch: <T>(path: string, options?: RequestOptions) => request<T>('PATCH', path, options),
  delete: <T = undefined>(path: string, options?: RequestOptions) => request<T>('DELETE', path, options),
}

/** Reads a record whose revision is only in the entity tag of the response. */
export async function readRevised<T>(
  path: string,
  signal: AbortSignal,
): Promise<{ readonly body: T; readonly revision: number }> {
  const response = await send('GET', path, { signal })
  if (!response.ok) throw await problemOf(response)
  const revision = Number(response.headers.get('etag')?.replaceAll(/\D/g, '') ?? 0)
  return { body: await readJson<T>(response), revision }
}

/** A segment of a path: a reference, a name of a tool. */
export const segment = encodeURIComponent
