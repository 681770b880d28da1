import { isJsonObject, type JsonObject } from '../../contract/json.ts'

/** The extension by which a server answers a tool call with a task (2026-07-28). */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'
/** The extension by which a server lists skills, whose files are resources. */
export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills'

/** The settings of an extension in the capabilities of a client or server; undefined where it is not declared. */
export function extensionOf({ extensions }: JsonObject, name: string): JsonObject | undefined {
  const settings = isJsonObject(extensions) ? extensions[name] : undefined
  return isJsonObject(settings) ? settings : undefined
}

/** The capabilities with one more extension, which has no settings. */
export function withExtension(capabilities: JsonObject, name: string): JsonObject {
  const others = isJsonObject(capabilities.extensions) ? capabilities.extensions : {}
  return { ...capabilities, extensions: { ...others, [name]: {} } }
}
