import type { ServerSettings } from '../../contract/records.ts'
import { valueAt } from '../../domain/json/json-pointer.ts'
import { secretParts } from '../../secrets/parts.ts'

/** The texts of opened settings that must not come out again: each secret, and those of its parts that others repeat alone. */
export function secretValues(forms: readonly Pick<ServerSettings, 'config' | 'variables' | 'secrets'>[]): string[] {
  const found = new Set<string>()
  for (const { config, variables, secrets } of forms) {
    const held = { ...config, variables }
    for (const pointer of secrets) {
      const value = valueAt(held, pointer)
      if (typeof value === 'string') for (const part of secretParts(value)) found.add(part)
    }
  }
  return [...found]
}
