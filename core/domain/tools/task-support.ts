import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { type CatalogItem, itemJson } from './catalog-item.ts'

/** How a tool can be called as a task (MCP 2025-11-25); a tool that says nothing, or `forbidden`, cannot. */
export type TaskSupport = 'required' | 'optional'

/** Whether a server with these capabilities takes calls of tools as tasks; what its tools say counts only then. */
export function takesTasks({ tasks }: JsonObject): boolean {
  const requests = isJsonObject(tasks) ? tasks.requests : undefined
  return isJsonObject(requests) && isJsonObject(requests.tools) && requests.tools.call !== undefined
}

/** What of `tasks` a client is told: the parts that the hub passes on. */
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

export function taskSupport(tool: CatalogItem): TaskSupport | undefined {
  if (!tool.text.includes('"taskSupport"')) return undefined
  const { execution } = itemJson(tool)
  const said = isJsonObject(execution) ? execution.taskSupport : undefined
  return said === 'required' || said === 'optional' ? said : undefined
}
