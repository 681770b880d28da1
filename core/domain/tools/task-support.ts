import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { eraOf } from '../era.ts'
import { type CatalogItem, itemJson } from './catalog-item.ts'
import { extensionOf, TASKS_EXTENSION } from './extensions.ts'

/**
 * Support of a tool for tasks. `required`, `optional`: its caller decides (MCP 2025-11-25); without a value, or
 * with `forbidden`, it cannot. `extension`: its server decides for each call (the tasks extension of 2026-07-28).
 */
export type TaskSupport = 'required' | 'optional' | 'extension'

/** True for a server that may answer calls of clients that declare the tasks extension with tasks. */
export function makesTasks(server: { readonly capabilities: JsonObject; readonly protocolVersion: string }): boolean {
  return eraOf(server.protocolVersion) === 'modern' && extensionOf(server.capabilities, TASKS_EXTENSION) !== undefined
}

/** True when a server with these capabilities accepts tool calls as tasks; otherwise its tools' own values do not count. */
export function takesTasks({ tasks }: JsonObject): boolean {
  const requests = isJsonObject(tasks) ? tasks.requests : undefined
  return isJsonObject(requests) && isJsonObject(requests.tools) && requests.tools.call !== undefined
}

/** The `tasks` capability for clients: the parts that the hub forwards. */
export function taskCapability(capabilities: JsonObject): JsonObject | undefined {
  const { tasks } = capabilities
  if (!isJsonObject(tasks) || !takesTasks(capabilities)) return undefined
  const { list, cancel } = tasks
  return {
    ...(list === undefined ? {} : { list: {} }),
    ...(cancel === undefined ? {} : { cancel: {} }),
    requests: { tools: { call: {} } },
  }
}

/** Returns the support of each of a server's tools; undefined for one whose calls cannot become tasks. */
export function taskSupportsOf(
  server: { readonly capabilities: JsonObject; readonly protocolVersion: string } | undefined,
): (tool: CatalogItem) => TaskSupport | undefined {
  if (!server) return () => undefined
  if (makesTasks(server)) return () => 'extension'
  return takesTasks(server.capabilities) ? taskSupport : () => undefined
}

/** Undefined for a tool that cannot be called as a task. */
function taskSupport(tool: CatalogItem): TaskSupport | undefined {
  if (!tool.text.includes('"taskSupport"')) return undefined
  const { execution } = itemJson(tool)
  const support = isJsonObject(execution) ? execution.taskSupport : undefined
  return support === 'required' || support === 'optional' ? support : undefined
}
