import { HubError, isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'

/** The configured values for one security scheme. Which members count depends on the scheme's type. */
export interface Credential {
  readonly type?: string
  readonly in?: string
  readonly name?: string
  readonly scheme?: string
  readonly value?: string
  readonly token?: string
  readonly username?: string
  readonly password?: string
  readonly clientId?: string
  readonly clientSecret?: string
  readonly tokenUrl?: string
  readonly openIdConnectUrl?: string
  readonly scopes?: readonly string[]
}

/** The name of the one credential for all calls; no scheme of a document can have it. */
export const FOR_ALL = ''

/** The configuration of an OpenAPI server, validated. */
export interface OpenapiConfig {
  readonly document: { readonly url: string } | { readonly content: JsonObject | string }
  readonly baseUrl: string | undefined
  readonly include: readonly string[] | undefined
  readonly exclude: readonly string[]
  /** By the name of the document's security scheme. */
  readonly credentials: ReadonlyMap<string, Credential>
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Treatment of arguments that a tool does not have. */
  readonly extraArguments: 'drop' | 'refuse'
}

/** Reads the configuration that the hub validated when it was saved. Throws `config_invalid` for an invalid value. */
export function readConfig(config: JsonObject): OpenapiConfig {
  const { openapi, headers, extraArguments } = config
  if (!isJsonObject(openapi)) throw invalid('"openapi" is missing')
  const { url, schema, baseUrl, operations, auth } = openapi
  const { include, exclude } = isJsonObject(operations) ? operations : {}
  return {
    document: readPlace(url, schema),
    baseUrl: typeof baseUrl === 'string' ? baseUrl : undefined,
    include: include === undefined ? undefined : texts(include),
    exclude: texts(exclude),
    credentials: readCredentials(auth),
    headers: readHeaders(headers),
    extraArguments: extraArguments === 'refuse' ? 'refuse' : 'drop',
  }
}

function readPlace(url: JsonValue | undefined, schema: JsonValue | undefined): OpenapiConfig['document'] {
  if (typeof url === 'string') return { url }
  if (typeof schema === 'string' || isJsonObject(schema)) return { content: schema }
  throw invalid('"openapi" names no document; give "url" or "schema"')
}

function readCredentials(auth: JsonValue | undefined): ReadonlyMap<string, Credential> {
  if (!isJsonObject(auth)) return new Map()
  if (typeof auth.type === 'string') return new Map([[FOR_ALL, readCredential(auth)]])
  return new Map(
    Object.entries(auth).map(([name, entry]) => [
      name,
      typeof entry === 'string' ? { value: entry, token: entry } : readCredential(entry),
    ]),
  )
}

function readCredential(entry: JsonValue): Credential {
  if (!isJsonObject(entry)) return {}
  const { scopes, ...rest } = entry
  const named = Object.entries(rest).filter(([, value]) => typeof value === 'string')
  return { ...Object.fromEntries(named), ...(scopes === undefined ? {} : { scopes: texts(scopes) }) }
}

function readHeaders(headers: JsonValue | undefined): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(isJsonObject(headers) ? headers : {})) {
    if (typeof value === 'string') kept[name.toLowerCase()] = value
  }
  return kept
}

function texts(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
}

function invalid(what: string): HubError {
  return new HubError('config_invalid', `The server cannot be read as an OpenAPI server: ${what}`)
}
