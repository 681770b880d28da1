import { isJsonObject, type JsonObject } from '../../contract/json.ts'

/**
 * A tool's JSON text for clients up to 2025-11-25: an output schema whose root is not an object, which only the modern
 * era allows, is removed.
 */
export function legacyTool(text: string): string {
  if (!text.includes('"outputSchema"')) return text
  const { outputSchema, ...tool } = JSON.parse(text) as JsonObject
  if (outputSchema === undefined || (isJsonObject(outputSchema) && outputSchema.type === 'object')) return text
  return JSON.stringify(tool)
}
