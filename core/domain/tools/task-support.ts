import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { type CatalogItem, itemJson } from './catalog-item.ts'

/** Support of a tool for being called as a task (MCP 2025-11-25). Without a value, or with `forbidden`, it cannot be. */
export type TaskSupport = 'required' | 'optional'

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

/** Undefined for a tool that cannot be called as a task. */
export function taskSupport(tool: CatalogItem): TaskSupport | undefined {
  if (!tool.text.includes('"taskSupport"')) return undefined
  const { execution } = itemJson(tool)
  const said = isJsonObject(execution) ? execution.taskSupport : undefined
  return said === 'required' || said === 'optional' ? said : undefined
}
