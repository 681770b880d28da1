import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { readClientEnvironment } from '../config/env.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { faultWords } from '../domain/fault-words.ts'
import { parseExact } from '../domain/json/exact-json.ts'
import { readHubEnvironment } from '../hub/bundled-settings.ts'
import { withoutEnd } from '../transport-kit/text-ends.ts'
import { CommandError, UsageError } from './arguments.ts'
import type { CommandIo } from './io.ts'
import { ADDRESS_FILE, CLI_TOKEN_FILE, dataDirOf, readLocalFile } from './local-files.ts'
import { plain } from './output.ts'

/** Longest wait for a response, in milliseconds: one tool call may take an hour. */
const SILENCE_MS = 3_600_000

/** The methods that commands send. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A hub's address and the token for it; undefined: none was found. */
export interface HubAddress {
  /** Scheme, host, port and base path, without a slash at the end. */
  readonly url: string
  readonly token: string | undefined
}

/**
 * PATCHBAY_URL, else the address that a local hub wrote to its data folder, else the default address. The local token is
 * sent only to the hub that wrote it. Throws StartError env_invalid, UsageError.
 */
export async function findHub(io: CommandIo): Promise<HubAddress> {
  const named = readClientEnvironment(io.env)
  const dataDir = dataDirOf(io)
  const left = await readLocalFile(dataDir, ADDRESS_FILE)
  const local = loopback(left !== undefined && URL.canParse(left) ? left : usualAddress(io))
  const url = named.url === undefined ? local : canonical(named.url)
  const token = named.token ?? (url === local ? await readLocalFile(dataDir, CLI_TOKEN_FILE) : undefined)
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new UsageError(
      'PATCHBAY_TOKEN is no token: it holds a space, a line end or another character that no token has',
    )
  }
  return { url, token }
}

function usualAddress(io: CommandIo): string {
  const { host = '127.0.0.1', port = 3000, basePath = '' } = readHubEnvironment(io.env)
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}${basePath}`
}

/** A hub that listens on all addresses is reached on loopback. */
function loopback(address: string): string {
  const url = new URL(address)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return canonical(url.href)
}

function canonical(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError(`PATCHBAY_URL is "${address}"; wanted: http://… or https://…`)
  return withoutEnd(`${url.origin}${url.pathname}`, '/')
}

/** Client of a running hub's REST API. Every error response is thrown as a CommandError with the hub's text. */
export class HubClient {
  readonly #hub: HubAddress

  private constructor(hub: HubAddress) {
    this.#hub = hub
  }

  static async connect(io: CommandIo): Promise<HubClient> {
    return new HubClient(await findHub(io))
  }

  get(path: string): Promise<JsonObject> {
    return this.send('GET', path)
  }

  post(path: string, body?: JsonValue): Promise<JsonObject> {
    return this.send('POST', path, body)
  }

  /** All items of a list, page by page. */
  async list(path: string): Promise<readonly JsonObject[]> {
    const items: JsonObject[] = []
    for (;;) {
      const separator = path.includes('?') ? '&' : '?'
      const page = await this.get(`${path}${separator}limit=1000&offset=${items.length}`)
      const found = Array.isArray(page.items) ? page.items.filter(isJsonObject) : []
      items.push(...found)
      if (found.length === 0 || items.length >= Number(page.total ?? 0)) return items
    }
  }

  /** The response's JSON; an empty object for a response without a body. Bytes go as they are. */
  async send(method: Method, path: string, body?: JsonValue | Uint8Array): Promise<JsonObject> {
    const { status, text } = await this.#exchange(method, path, body)
    const answer = parse(text)
    if (status >= 200 && status < 300) return answer
    if (status === 401 && (await this.#needsSetup())) throw new CommandError(this.#setupWords())
    throw new CommandError(this.#problem(status, answer))
  }

  async #exchange(
    method: Method,
    path: string,
    body: JsonValue | Uint8Array | undefined,
  ): Promise<{ status: number; text: string }> {
    const url = new URL(`${this.#hub.url}${path}`)
    const isRaw = body instanceof Uint8Array
    const payload = body === undefined || isRaw ? body : JSON.stringify(body)
    const headers: Record<string, string> = { accept: 'application/json' }
    if (this.#hub.token !== undefined) headers.authorization = `Bearer ${this.#hub.token}`
    if (payload !== undefined) headers['content-type'] = isRaw ? 'application/octet-stream' : 'application/json'
    if (payload !== undefined) headers['content-length'] = String(Buffer.byteLength(payload))
    // Not fetch, which would send the token through the proxy that the environment names.
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    return new Promise((resolve, reject) => {
      const request = send(url, { method, headers, timeout: SILENCE_MS }, response => {
        read(response).then(text => resolve({ status: response.statusCode ?? 0, text }), reject)
      })
      request.on('timeout', () => request.destroy(new Silence()))
      request.on('error', error => reject(this.#unreachable(error)))
      request.end(payload)
    })
  }

  /** True while the hub has no administrator, so that no credential can be valid. */
  async #needsSetup(): Promise<boolean> {
    const { status, text } = await this.#exchange('GET', '/api/setup', undefined)
    return status === 200 && parse(text).open === true
  }

  #setupWords(): string {
    return plain(
      `setup_required: the hub at ${this.#hub.url} has no administrator yet, so that nobody can sign in\n` +
        `Open ${this.#hub.url} in a browser and make the first account. "patchbay setup-token", run on the hub’s machine as the hub’s ` +
        `user, prints the token that it asks for. Or start the hub with ADMIN_USERNAME and ADMIN_PASSWORD.`,
    )
  }

  #unreachable(error: Error): CommandError {
    const refused = 'code' in error && error.code === 'ECONNREFUSED'
    const silent = error instanceof Silence
    const why = refused ? 'no hub listens there' : silent ? 'no answer' : faultWords(error)
    return new CommandError(
      `Cannot reach ${this.#hub.url}: ${why}\nStart it with "patchbay serve", or set PATCHBAY_URL (or DATA_DIR) to the hub that is meant.`,
      { cause: error },
    )
  }

  #problem(status: number, answer: JsonObject): string {
    const code = typeof answer.code === 'string' ? answer.code : `http_${status}`
    const lines = [`${code}: ${text(answer.detail) || text(answer.title) || `the hub answered ${status}`}`]
    for (const error of Array.isArray(answer.errors) ? answer.errors : []) {
      if (!isJsonObject(error)) continue
      lines.push(`  ${text(error.pointer)}: ${text(error.detail)}`)
      if (isJsonObject(error.suggestion)) lines.push(suggestionLine(error.suggestion))
    }
    if (text(answer.hint)) lines.push(text(answer.hint))
    if (status === 401 && this.#hub.token === undefined) {
      lines.push(
        'Set PATCHBAY_TOKEN to an access key with scope "api", or run this on the hub’s machine as the hub’s user.',
      )
    }
    return plain(lines.join('\n'))
  }
}

/** The form of a server that is meant, as a person can write it. */
export function suggestionLine(suggestion: JsonObject): string {
  const added = Object.fromEntries(Object.entries(suggestion).filter(([, value]) => value !== null))
  const left = Object.keys(suggestion).filter(field => suggestion[field] === null)
  return `  write: ${JSON.stringify(added)}${left.length === 0 ? '' : `, without ${left.join(', ')}`}`
}

/** The hub did not respond in time. */
class Silence extends Error {}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function parse(body: string): JsonObject {
  try {
    // Exact, as results of tools may hold numbers that a double cannot.
    const value: unknown = parseExact(body)
    return isJsonObject(value) ? value : {}
  } catch {
    // A proxy in front may respond with its own page; the status is enough.
    return {}
  }
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
