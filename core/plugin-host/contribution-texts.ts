import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { PluginDefinition } from '../contract/plugin.ts'
import { visibleSchema, visibleValue } from '../domain/json/visible-json.ts'
import { hasHidden, visibleName } from '../domain/text/visible-text.ts'
import { requireDeclared } from './services/definition.ts'

/** Members of contributions that people read. */
const TEXTS = ['label', 'note'] as const
/** The member that holds a JSON Schema, of which people read titles and descriptions. */
const SCHEMA = 'configSchema'

interface Defined {
  /** The definition of a bundled plugin. */
  readonly definition: PluginDefinition<unknown> | undefined
}

/**
 * Throws an Error for a contribution that the definition must name, and does not. Shows hidden characters in the texts of plugins
 * that are not bundled.
 */
export function checkContribution({ definition }: Defined, point: string, id: string, contribution: object): void {
  if (!definition) showTexts(point, id, contribution)
  requireDeclared(definition, point, id)
}

/**
 * Shows hidden characters in the texts of a contribution, in place. Throws an Error where they cannot be shown: in the id,
 * in a part of the schema that is compared or sent, or in an object that is frozen.
 */
export function showTexts(point: string, id: string, contribution: object): void {
  const where = `contribution "${visibleName(id)}" to "${point}"`
  if (hasHidden(id)) throw new Error(`${where}: the id has hidden characters`)
  const members = contribution as Record<string, JsonValue | undefined>
  for (const name of TEXTS) {
    const text = members[name]
    if (typeof text === 'string' || isJsonObject(text)) replace(members, name, visibleValue(text), where)
  }
  const schema = members[SCHEMA]
  if (!isJsonObject(schema)) return
  const shown = readableSchema(schema)
  if (!shown) throw new Error(`${where}: "${SCHEMA}" has hidden characters outside of titles and descriptions`)
  replace(members, SCHEMA, shown, where)
}

/** The schema with readable titles and descriptions; undefined where another part of it has hidden characters. */
export function readableSchema(schema: JsonObject): JsonObject | undefined {
  const shown = visibleSchema(schema)
  return JSON.stringify(visibleValue(shown)) === JSON.stringify(shown) ? shown : undefined
}

function replace(members: Record<string, unknown>, name: string, value: JsonValue, where: string): void {
  if (JSON.stringify(value) === JSON.stringify(members[name])) return
  const isDone = Reflect.defineProperty(members, name, { value, configurable: true, enumerable: true, writable: true })
  if (!isDone) throw new Error(`${where}: "${name}" has hidden characters and cannot be replaced`)
}
