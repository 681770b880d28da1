import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { isBlank } from '../domain/json/blank.ts'
import { isSecretName } from '../domain/server/secrets.ts'
import type { MissingValue } from './import-items.ts'

/** `${NAME}`, `${env:NAME}`, `${input:name}`, `${NAME:-default}` of clients and other hubs, `$NAME` of some. */
const REFERENCE = /\$\{(?:(?:env|input):)?([A-Za-z_][\w.-]*)(?::-([^{}]*))?\}|\$([A-Z][A-Z0-9_]*)(?![\w{])/g
const TEXTS = ['command', 'args', 'env', 'url', 'headers', 'cwd'] as const

/** A body whose references are all to variables of its own. */
export interface OwnReferences {
  readonly body: JsonObject
  readonly missing: readonly MissingValue[]
}

/**
 * References to the environment of a client or of another hub become variables of the server: the default, the answer
 * of the user, or nothing yet. The hub's own environment is never read. `references`: see ImportItem.
 */
export function ownReferences(
  body: JsonObject,
  answers: Readonly<Record<string, string>>,
  references: 'braced' | 'plain' | 'none' = 'braced',
): OwnReferences {
  if (references === 'none') return { body, missing: [] }
  const given = isJsonObject(body.variables) ? body.variables : {}
  const found = new Map<string, string | undefined>()
  const rename = (text: string): string =>
    text.replaceAll(REFERENCE, (whole, braced: string | undefined, preset: string | undefined, bare?: string) => {
      if (braced === undefined && references !== 'plain') return whole
      const name = braced ?? bare ?? ''
      found.set(name, found.get(name) ?? preset)
      return `\${${name}}`
    })
  const texts = Object.fromEntries(
    TEXTS.filter(field => body[field] !== undefined).map(field => [field, mapTexts(body[field] ?? null, rename)]),
  )
  const variables: Record<string, JsonValue> = { ...given }
  const missing: MissingValue[] = []
  for (const [name, preset] of found) {
    if (Object.hasOwn(given, name)) continue
    const entered = answers[name]
    const answer = entered !== undefined && isSecretName(name) && isBlank(entered) ? preset : (entered ?? preset)
    if (answer === undefined) missing.push({ name, secret: isSecretName(name) })
    // The inserted value is text, not another reference.
    variables[name] = (answer ?? '').replaceAll('${', () => '$${')
  }
  return {
    body: {
      ...body,
      ...texts,
      ...(Object.keys(variables).length === 0 ? {} : { variables }),
    },
    missing,
  }
}

function mapTexts(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map(item => mapTexts(item, change))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]))
}
