import type { ServerSettings } from '../../contract/records.ts'
import { valueAt } from '../../domain/json/json-pointer.ts'
import { storedDocument } from '../../domain/server/openapi.ts'
import { secretParts } from '../../secrets/parts.ts'
import type { EffectiveServer } from '../api.ts'
import type { Owner } from '../owners.ts'
import { configHash } from './server-secrets.ts'

/**
 * Settings that a connection to a server needs. `owner`: with the rights that apply to it. `stored`: the same settings as saved,
 * with secrets encrypted.
 */
export function effectiveServer(
  settings: ServerSettings,
  owner: Owner,
  stored: ServerSettings,
  readDocument: (sha256: string) => Promise<Uint8Array>,
): Omit<EffectiveServer, 'secrets'> {
  const document = storedDocument(settings.config)
  const { id: ownerId, role: ownerRole, number: ownerNumber, grants: ownerGrants } = owner
  return {
    ...{ settings, ownerId, ownerRole, ownerNumber, ownerGrants, configHash: configHash(stored, owner) },
    ...(document ? { document: () => readDocument(document.sha256) } : {}),
  }
}

/** The texts to redact for opened settings: each secret, and its parts that may appear alone. */
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
