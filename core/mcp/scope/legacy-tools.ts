import { isJsonObject, type JsonObject } from '../../contract/json.ts'

/**
 * The text of a tool as clients up to 2025-11-25 can read it: an output schema whose root is no object, which only the modern
 * era has, is left out.
 */
export function legacyTool(text: string): string {
  if (!text.includes('"outputSchema"')) return text
  const { outputSchema, ...tool } = JSON.parse(text) as JsonObject
  if (outputSchema === undefined || (isJsonObject(outputSchema) && outputSchema.type === 'object')) return text
  return JSON.stringify(tool)
}
