import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { JsoncError, readJsonc } from '../jsonc.ts'

/** The configuration in a link that installs a server in a client. `name` is the link's own. */
export interface LinkedServer {
  readonly name?: string
  readonly value: JsonValue
  readonly warnings: readonly string[]
}

const VSCODE_REDIRECT = /^(?:insiders\.)?vscode\.dev$/
/** A path of a page or of a program that installs servers. */
const INSTALLS = /(?:^|\/)(?:install-mcp|add_mcp|mcp\/(?:install|add)|mcp-install|launch\/mcp\/add)\/?$/i
const MOST_CHARACTERS = 256 * 1024

/**
 * The server of an install link: of Cursor, Kiro and LM Studio (`name` and `config`, in Base64 or JSON), of VS Code (JSON as the
 * query, or by its redirecting page), of Goose (`cmd`, `arg`, `env`). Undefined for any other address, and a sentence for a link
 * whose configuration cannot be read.
 */
export function readInstallLink(text: string): LinkedServer | string | undefined {
  if (text.length > MOST_CHARACTERS || !/^[a-z][a-z0-9+.-]*:\S+$/i.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const inner = url.searchParams.get('url')
  if (inner !== null && VSCODE_REDIRECT.test(url.hostname)) return readInstallLink(inner)
  if (url.protocol === 'goose:') return ofGoose(url)
  const path = `${url.protocol.startsWith('http') ? '' : url.host}${url.pathname}`
  if (!INSTALLS.test(path)) {
    return /^vscode/.test(url.protocol) && /^\/*mcp\//.test(path)
      ? 'This link names a server of a gallery and has no configuration; paste the configuration itself'
      : undefined
  }
  const config = url.searchParams.get('config')
  const name = url.searchParams.get('name')
  if (config === null) return /^https?:/.test(url.protocol) ? undefined : ofQuery(url)
  const value = decoded(config)
  if (value === undefined)
    return 'The link has no configuration that can be read: its "config" is neither JSON nor Base64 of it'
  return { value, warnings: [], ...(name === null ? {} : { name }) }
}

/** `vscode:mcp/install?{"name":…}`, encoded as a component of an address. */
function ofQuery({ search }: URL): LinkedServer | string {
  const value = decoded(percentDecoded(search.slice(1)))
  if (value === undefined) return 'The link has no configuration that can be read: what follows "?" is no JSON'
  const name = isJsonObject(value) && typeof value.name === 'string' ? value.name : undefined
  return { value, warnings: [], ...(name === undefined ? {} : { name }) }
}

/** `goose://extension?cmd=npx&arg=-y&arg=x&env=KEY%3Dwhat&name=…`, or with `url` for an address. */
function ofGoose({ searchParams: query }: URL): LinkedServer {
  const names = query.getAll('env').map(entry => entry.split('=')[0] ?? '')
  const env = Object.fromEntries(names.filter(name => name !== '').map(name => [name, `\${${name}}`]))
  const [command, url, name] = ['cmd', 'url', 'name'].map(key => query.get(key))
  const seconds = Number(query.get('timeout'))
  const value: JsonObject = {
    ...(command ? { command, args: query.getAll('arg') } : {}),
    ...(url ? { url } : {}),
    ...(names.length > 0 ? { env } : {}),
    ...(seconds > 0 ? { timeout: seconds * 1_000 } : {}),
  }
  return { value, warnings: [], ...(name ? { name } : {}) }
}

/** JSON, JSON encoded for an address once more, or either in Base64. */
function decoded(text: string): JsonValue | undefined {
  const base64 = /^[\w+/ -]+={0,2}$/.test(text) ? Buffer.from(text.replaceAll(' ', '+'), 'base64').toString('utf8') : ''
  for (const candidate of [text, percentDecoded(text), base64, percentDecoded(base64)]) {
    if (!/^\s*[{[]/.test(candidate)) continue
    try {
      return readJsonc(candidate).value
    } catch (error) {
      if (!(error instanceof JsoncError)) throw error
    }
  }
  return undefined
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return text
    throw error
  }
}
