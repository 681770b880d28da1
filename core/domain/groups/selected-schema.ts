import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** Values that a description names. */
const NAMED = 10

/** The argument that chooses a member, as tools and prompts list it. */
export interface ChosenArgument {
  readonly name: string
  readonly description: string
  readonly values: readonly string[]
  /** Absent: the argument is required. */
  readonly default?: string
}

/** An input schema with the argument in front of its own. */
export function withArgument(schema: JsonValue | undefined, argument: ChosenArgument): JsonObject {
  const { name, description, values, default: preset } = argument
  const base: JsonObject = { type: 'object', ...(isJsonObject(schema) ? schema : {}) }
  const property = {
    ...{ type: 'string', enum: [...values], description },
    ...(preset === undefined ? {} : { default: preset }),
  }
  const properties = { [name]: property, ...(isJsonObject(base.properties) ? base.properties : {}) }
  const required = Array.isArray(base.required) ? base.required : []
  return { ...base, properties, ...(preset === undefined ? { required: [name, ...required] } : {}) }
}

/** The arguments of a prompt with the one that chooses in front. MCP has no list of values there: the description names them. */
export function withPromptArgument(given: JsonValue | undefined, argument: ChosenArgument): JsonValue {
  const { name, description, values, default: preset } = argument
  const usual = preset === undefined ? '' : `; default: ${preset}`
  const text = `${description} One of: ${namedValues(values, values.length)}${usual}.`
  return [{ name, description: text, required: preset === undefined }, ...(Array.isArray(given) ? given : [])]
}

/** Values in a sentence. */
export function namedValues(values: readonly string[], most = NAMED): string {
  const more = values.length > most ? ` and ${values.length - most} more` : ''
  return `${values.slice(0, most).join(', ')}${more}`
}

/** True when a schema has an argument of this name of its own. */
export function hasArgument(schema: JsonValue | undefined, name: string): boolean {
  return isJsonObject(schema) && isJsonObject(schema.properties) && Object.hasOwn(schema.properties, name)
}
