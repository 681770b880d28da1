import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** Members with a token for the address of an entry, by their letters. */
const TOKENS: ReadonlySet<string> = new Set([
  ...['bearertoken', 'token', 'authtoken', 'accesstoken', 'authorizationtoken', 'apikey', 'bearer', 'apitoken'],
])
/** Members with the name of a variable that has the token. */
const VARIABLES: ReadonlySet<string> = new Set([
  'bearertokenenvvar',
  'tokenenvvar',
  'tokenenv',
  'apikeyenvvar',
  'apikeyenv',
])
const ADDRESSES = ['url', 'serverUrl', 'httpUrl', 'baseUrl', 'endpoint', 'uri']

/**
 * Tokens of clients in the members that `withOwnReferences` reads: `bearer_token`, `auth_type` with `auth_value`, or headers. A
 * program has no such token: its entry is returned unchanged. `kinds`: words for a sign-in in `auth` that is no token.
 */
export function withSignInNames(entry: JsonObject, kinds: readonly string[] = []): JsonObject {
  if (!ADDRESSES.some(field => typeof entry[field] === 'string')) return entry
  return Object.entries(entry).reduce((read, [key, value]) => withMember(read, key, value, kinds), entry)
}

function withMember(entry: JsonObject, key: string, value: JsonValue, kinds: readonly string[]): JsonObject {
  const letters = key.toLowerCase().replaceAll(/[^a-z]/g, '')
  if (letters === 'auth' || letters === 'authentication') return withAuth(entry, key, value, kinds)
  const token = textOf(value)
  if (token === undefined || key === 'bearer_token' || key === 'bearer_token_env_var') return entry
  if (letters === 'authorization' || TOKENS.has(letters)) return withHeader(entry, key, 'Authorization', schemed(token))
  return VARIABLES.has(letters) ? { ...without(entry, key), bearer_token_env_var: token } : entry
}

function withAuth(entry: JsonObject, key: string, auth: JsonValue, kinds: readonly string[]): JsonObject {
  if (typeof auth === 'string') {
    // Another word names a kind of sign-in.
    return /^(?:Bearer|Basic|Token) +\S/i.test(auth) ? withHeader(entry, key, 'Authorization', auth) : entry
  }
  if (!isJsonObject(auth)) return entry
  const { type, scheme, username, password, header, headerName, header_name, name, headers } = auth
  if (isJsonObject(headers)) return { ...without(entry, key), headers: { ...headers, ...ownHeaders(entry) } }
  const kind = String(type ?? scheme ?? '').toLowerCase()
  const user = textOf(username)
  if (user !== undefined) {
    return { ...without(entry, key), auth_type: 'basic', auth_value: `${user}:${textOf(password) ?? ''}` }
  }
  const token = [
    'token',
    'bearer',
    'bearerToken',
    'bearer_token',
    'accessToken',
    'access_token',
    'value',
    'key',
    'apiKey',
    'api_key',
  ]
    .map(member => textOf(auth[member]))
    .find(text => text !== undefined)
  if (token === undefined || kinds.some(word => kind.includes(word))) return entry
  const named = [header, headerName, header_name, /bearer/.test(kind) ? undefined : name]
    .map(textOf)
    .find(text => text !== undefined)
  if (named !== undefined) return withHeader(entry, key, named, /^authorization$/i.test(named) ? schemed(token) : token)
  return /api.?key/.test(kind)
    ? withHeader(entry, key, 'X-API-Key', token)
    : withHeader(entry, key, 'Authorization', schemed(token))
}

/** The headers of the entry itself win. */
function withHeader(entry: JsonObject, key: string, header: string, value: string): JsonObject {
  return { ...without(entry, key), headers: { [header]: value, ...ownHeaders(entry) } }
}

function ownHeaders({ headers }: JsonObject): JsonObject {
  return isJsonObject(headers) ? headers : {}
}

function without(entry: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => name !== key))
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A token alone is a bearer token. */
function schemed(token: string): string {
  return /^[A-Za-z][\w-]* +\S/.test(token) ? token : `Bearer ${token}`
}
