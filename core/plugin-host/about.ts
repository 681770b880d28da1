import { isJsonObject, type JsonObject } from '../contract/json.ts'
import type { PluginDefinition } from '../contract/plugin.ts'
import { visibleName, visibleText } from '../domain/text/visible-text.ts'
import { readableSchema } from './contribution-texts.ts'

/** Version and configuration of a plugin, as its module states them. */
export interface PluginAbout {
  readonly version?: string
  /** JSON Schema of its configuration. */
  readonly configSchema?: JsonObject
  /** True when it takes a configuration. */
  readonly configurable: boolean
  readonly needs?: readonly string[]
  /** The numbers of its definition. */
  readonly limits?: Readonly<Record<string, number>>
  readonly errors?: readonly string[]
  readonly events?: Readonly<Record<string, { readonly audience: 'owner' | 'public' }>>
  /** Its own points; the value is true when contributions run only in the main thread. */
  readonly points?: Readonly<Record<string, boolean>>
  readonly migrations?: readonly string[]
  readonly variables?: Readonly<Record<string, string>>
  /** Chinese by the English text. */
  readonly words?: Readonly<Record<string, string>>
}

/** Longest JSON text of a schema that is shown. */
const MOST_SCHEMA = 256 * 1024

/**
 * Reads version and configuration of a plugin from its definition. A schema that cannot be written as JSON Schema is left out,
 * and so is one with hidden characters outside of titles and descriptions.
 */
export function aboutPlugin(definition: PluginDefinition<unknown>): PluginAbout {
  const { version, config } = definition
  const configSchema = config ? schemaOf(config) : undefined
  return {
    configurable: config !== undefined,
    ...(typeof version === 'string' ? { version: visibleName(version.slice(0, 64)) } : {}),
    ...(configSchema ? { configSchema } : {}),
    ...factsOf(definition),
  }
}

function factsOf({ needs, limits, errors, events, points, migrations, variables, words }: PluginDefinition<unknown>) {
  return {
    ...(needs ? { needs: [...needs] } : {}),
    ...(limits ? { limits: { ...limits } } : {}),
    ...(errors ? { errors: Object.keys(errors) } : {}),
    ...(events ? { events: mapped(events, ({ audience }) => ({ audience })) } : {}),
    ...(points ? { points: mapped(points, ({ main }) => main === true) } : {}),
    ...(migrations ? { migrations: Object.keys(migrations).sort() } : {}),
    ...(variables ? { variables: { ...variables } } : {}),
    ...(words ? { words: visibleWords(words) } : {}),
  }
}

function visibleWords(words: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(words).map(([text, chinese]) => [text, visibleText(chinese)]))
}

function mapped<T, U>(record: Readonly<Record<string, T>>, of: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, of(value)]))
}

function schemaOf(config: NonNullable<PluginDefinition<unknown>['config']>): JsonObject | undefined {
  try {
    // A copy of plain JSON, since the answer of a schema library may contain functions.
    const text = JSON.stringify(config['~standard'].jsonSchema?.input({ target: 'draft-2020-12' }))
    const schema: unknown = text === undefined || text.length > MOST_SCHEMA ? undefined : JSON.parse(text)
    return isJsonObject(schema) ? readableSchema(schema) : undefined
  } catch {
    return undefined
  }
}
