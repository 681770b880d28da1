import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'

/**
 * Members with content, which a webhook may change. It may not change the members that identify the tool, resource or task, such as
 * `name`, `uri`, `taskId` and `requestState`: rights, approvals and quotas were checked for their values.
 */
const CONTENT = {
  arguments: ['arguments', 'argument', 'inputResponses', 'action', 'content', 'role', 'model', 'stopReason', 'roots'],
  result: ['content', 'structuredContent', 'isError', 'messages', 'description', 'contents', 'completion', 'result'],
} as const
/** Levels of an answer; a deeper one cannot be read. */
const DEEPEST = 128

/**
 * The content with the changes of a webhook. Undefined when the answer has another form: a list or an object of the content is missing,
 * or is nested too deep.
 */
export function withChanges(on: keyof typeof CONTENT, before: JsonObject, changed: JsonObject): JsonObject | undefined {
  const merged: JsonObject = { ...before }
  for (const name of CONTENT[on]) {
    const [was, is] = [before[name], changed[name]]
    if (formOf(was) !== 'other' && formOf(was) !== formOf(is)) return undefined
    if (is !== undefined) merged[name] = is
  }
  return isDeep(merged, DEEPEST) ? undefined : merged
}

function formOf(value: JsonValue | undefined): 'list' | 'object' | 'other' {
  if (Array.isArray(value)) return 'list'
  return isJsonObject(value) ? 'object' : 'other'
}

function isDeep(value: JsonValue | undefined, left: number): boolean {
  if (Array.isArray(value)) return left === 0 || value.some(item => isDeep(item, left - 1))
  return isJsonObject(value) && (left === 0 || Object.values(value).some(item => isDeep(item, left - 1)))
}
