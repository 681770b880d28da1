import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { type FileAlert, listed } from './monitoring.ts'

/**
 * Reads `assistant.endpoints`, at the top level and in `systemConfig`. Of two entries with the same owner and name the first
 * counts, those of the top level before the others. Entries are validated later, when they are mirrored.
 */
export function readAssistant(document: JsonObject, warnings: string[]): readonly FileAlert[] {
  const inner = isJsonObject(document.systemConfig) ? document.systemConfig : {}
  const entries = [
    ...endpointsOf(document.assistant, '/assistant', warnings),
    ...endpointsOf(inner.assistant, '/systemConfig/assistant', warnings),
  ]
  const seen = new Set<string>()
  return entries.filter(({ body: { owner = null, name } }) => {
    const place = JSON.stringify([owner, name])
    const isLater = name !== undefined && seen.has(place)
    seen.add(place)
    return !isLater
  })
}

function endpointsOf(section: JsonValue | undefined, at: string, warnings: string[]): FileAlert[] {
  if (section === undefined) return []
  const endpoints = isJsonObject(section) ? (section.endpoints ?? []) : undefined
  if (Array.isArray(endpoints)) return listed(endpoints, `${at}/endpoints`, 'endpoint')
  warnings.push(`${at} has no list "endpoints"; it is not used`)
  return []
}
