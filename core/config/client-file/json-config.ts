import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { JsoncError, readJsonc } from '../jsonc.ts'
import { setAllAt } from '../jsonc-edit.ts'
import { type ConfigSyntax, UnreadableConfig } from './config-syntax.ts'
import { memberOf, onlyEntry } from './config-tables.ts'
import { checked } from './config-value.ts'

/** Files in JSON, which may have comments and trailing commas. */
export const JSON_CONFIG: ConfigSyntax = {
  value: jsonOf,
  only(text) {
    const [table, name, value] = onlyEntry(jsonOf(text))
    return { table, name, value, text: '' }
  },
  read: (text, table, name) => memberOf(jsonOf(text), table, name),
  write(text, { table, name }, entry) {
    return JSON_CONFIG.change(text, [{ path: [table, name], value: entry?.value }])
  },
  change(text, changes) {
    const whole = text.trim() === '' ? '{}\n' : text
    const before = jsonOf(whole)
    return checked(before, jsonOf, changes, setAllAt(whole, changes))
  },
  entryOf(text, table, name) {
    const value = memberOf(jsonOf(text), table, name)
    return isJsonObject(value) ? { table, name, value, text: '' } : undefined
  },
}

function jsonOf(text: string): JsonObject {
  if (text.trim() === '') return {}
  try {
    const { value } = readJsonc(text)
    if (isJsonObject(value)) return value
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error
    throw new UnreadableConfig(`line ${error.line}, column ${error.column}: ${error.message}`)
  }
  throw new UnreadableConfig('line 1: it is no JSON object')
}
