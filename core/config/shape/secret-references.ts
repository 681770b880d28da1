import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** Fields of an entry whose texts can refer to secrets. */
const TEXTS = [
  'command',
  'args',
  'env',
  'url',
  'serverUrl',
  'httpUrl',
  'headers',
  'static_headers',
  'requestOptions',
  'cwd',
]

/** Other programs' references to a secret or a variable, of which the first group is the name. */
const REFERENCES: readonly RegExp[] = [
  // LiteLLM: https://docs.litellm.ai/docs/proxy/config_settings
  /(?<![\w/])os\.environ\/([A-Za-z_]\w*)/g,
  // Continue: https://docs.continue.dev/reference#secrets
  /\$?\{\{\s*(?:secrets|inputs|env)\.(?:[\w.-]+\/)*([A-Za-z_][\w-]*)\s*\}\}/g,
  // LibreChat: https://www.librechat.ai/docs/configuration/librechat_yaml/object_structure/mcp_servers
  /\{\{\s*([A-Z][A-Z0-9_]*)\s*\}\}/g,
  // VS Code: https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
  /\$\{(?:env|input|secret|secrets|vault):([A-Za-z_][\w.-]*)\}/g,
  // opencode: https://opencode.ai/docs/config#variables
  /(?<!\$)\{env:([A-Za-z_]\w*)\}/g,
]

/** A whole value that is a variable (Gemini CLI, Qwen Code, Crush), behind a word such as `Bearer` or alone. */
const BARE = /^((?:Bearer|Basic|Token) +)?\$([A-Z_][A-Z0-9_]*)$/i
/** Copilot: https://docs.github.com/en/copilot/how-tos/agents/copilot-coding-agent/extend-coding-agent-with-mcp */
const COPILOT = /^\$?(COPILOT_MCP_[A-Z0-9_]+)$/
/** 1Password: https://developer.1password.com/docs/cli/secret-reference-syntax */
const IN_VAULT = /^(?:op|vault|keyring|keychain):\/\/\S+$/

/**
 * The entry with its references to secrets as `${NAME}`, which an import asks for, and with its sign-in as headers. So no server gets
 * the text of a reference in the place of a secret.
 */
export function withOwnReferences(entry: JsonObject): JsonObject {
  const signed = withSignIn(entry)
  const texts = TEXTS.filter(field => signed[field] !== undefined && signed[field] !== null)
  const changed = texts.map(field => {
    const isMap = field === 'env' || field === 'headers' || field === 'static_headers'
    return [field, mapTexts(signed[field] ?? null, field, isMap)] as const
  })
  return { ...signed, ...Object.fromEntries(changed) }
}

function mapTexts(value: JsonValue, name: string, isMap: boolean): JsonValue {
  if (typeof value === 'string') return isMap ? wholeReference(value, name) : referenced(value)
  if (Array.isArray(value)) return value.map(item => mapTexts(item, name, false))
  if (!isJsonObject(value)) return value
  const isInner = isMap || name === 'requestOptions' || name === 'headers'
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, key, isInner)]))
}

function referenced(text: string): string {
  return REFERENCES.reduce((changed, pattern) => changed.replaceAll(pattern, (_, name: string) => `\${${name}}`), text)
}

/** The value of a variable or header, which can be a reference as a whole. */
function wholeReference(text: string, name: string): string {
  const [, scheme = '', bare] = BARE.exec(text) ?? []
  if (bare !== undefined) return `${scheme}\${${bare}}`
  const secret = COPILOT.exec(text)?.[1]
  if (secret !== undefined) return `\${${secret}}`
  if (IN_VAULT.test(text)) return `\${${variableName(name).toUpperCase()}}`
  return referenced(text)
}

function variableName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_]/g, '_')
}

/** Header by `auth_type` of LiteLLM: https://docs.litellm.ai/docs/mcp_authentication */
const BY_AUTH_TYPE: Readonly<Record<string, (value: string) => readonly [header: string, value: string]>> = {
  api_key: value => ['X-API-Key', value],
  bearer_token: value => ['Authorization', `Bearer ${value}`],
  token: value => ['Authorization', `token ${value}`],
  authorization: value => ['Authorization', value],
  basic: value => ['Authorization', `Basic ${base64(value)}`],
}

/** Fields of a sign-in, which become headers. */
const SIGN_IN = [
  'auth_type',
  'auth_value',
  'authentication_token',
  'bearer_token',
  'bearer_token_env_var',
  'env_http_headers',
]

/** The fields with which some programs sign in, as headers. Headers that the entry has itself win. */
function withSignIn(entry: JsonObject): JsonObject {
  const made = { ...bearerHeader(entry), ...variableHeaders(entry), ...typedHeader(entry) }
  if (Object.keys(made).length === 0) return entry.auth_type === 'none' ? without(entry, ['auth_type']) : entry
  const fields = hasAddress(entry) ? [...SIGN_IN, 'apiKey'] : SIGN_IN
  return { ...without(entry, fields), headers: { ...made, ...ownHeaders(entry) } }
}

/** A token in the file: of Codex, and of Continue (https://docs.continue.dev/reference#mcpservers). */
function bearerHeader(entry: JsonObject): Readonly<Record<string, string>> {
  const bearer = text(entry.bearer_token) ?? (hasAddress(entry) ? text(entry.apiKey) : undefined)
  return bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }
}

/** Names of variables that hold headers: https://developers.openai.com/codex/mcp */
function variableHeaders({ bearer_token_env_var: variable, env_http_headers: map }: JsonObject): JsonObject {
  const named = Object.entries(isJsonObject(map) ? map : {}).flatMap(([header, name]) =>
    typeof name === 'string' ? [[header, `\${${name}}`] as const] : [],
  )
  const bearer = typeof variable === 'string' ? { Authorization: `Bearer \${${variable}}` } : {}
  return { ...bearer, ...Object.fromEntries(named) }
}

function typedHeader({ auth_type: type, auth_value: value, authentication_token: earlier }: JsonObject): JsonObject {
  const given = text(value) ?? text(earlier)
  const header = typeof type === 'string' && Object.hasOwn(BY_AUTH_TYPE, type) ? BY_AUTH_TYPE[type] : undefined
  return header && given !== undefined ? Object.fromEntries([header(given)]) : {}
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function hasAddress({ url, serverUrl, httpUrl }: JsonObject): boolean {
  return [url, serverUrl, httpUrl].some(value => typeof value === 'string')
}

function without(entry: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !fields.includes(name)))
}

function ownHeaders({ headers, static_headers: fixed, requestOptions: options }: JsonObject): JsonObject {
  if (isJsonObject(headers)) return headers
  if (isJsonObject(fixed)) return fixed
  return isJsonObject(options) && isJsonObject(options.headers) ? options.headers : {}
}

/** A reference cannot be encoded, so that its variable holds the encoded text. */
function base64(value: string): string {
  const written = referenced(value)
  const name = /^\$\{([A-Za-z_]\w*)\}$/.exec(written)?.[1]
  return name === undefined ? Buffer.from(value).toString('base64') : `\${${name}_BASE64}`
}
