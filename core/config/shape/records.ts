import { isJsonObject, type JsonValue } from '../../contract/json.ts'
import { pointerToken } from '../../domain/json/json-pointer.ts'
import { type FileEntry, type FileRecords, listed } from './sections.ts'

/**
 * Reads the section `records`: by plugin and kind a list of records. Entries are validated later, by the plugins that run. Keys
 * are `{plugin}.{kind}`.
 */
export function readRecords(section: JsonValue | undefined, warnings: string[]): FileRecords {
  const found = new Map<string, readonly FileEntry[]>()
  for (const [plugin, kinds] of membersOf(section, '"records"', warnings)) {
    const at = `/records/${pointerToken(plugin)}`
    for (const [kind, entries] of membersOf(kinds, at, warnings)) {
      const place = `${at}/${pointerToken(kind)}`
      if (Array.isArray(entries)) found.set(`${plugin}.${kind}`, listed(entries, place, 'record'))
      else warnings.push(`${place} is not a list of records; it is not used`)
    }
  }
  return found
}

function membersOf(value: JsonValue | undefined, where: string, warnings: string[]): readonly [string, JsonValue][] {
  if (value === undefined) return []
  if (isJsonObject(value)) return Object.entries(value)
  warnings.push(`${where} is not an object; it is not used`)
  return []
}
