import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord } from '../contract/records.ts'
import { serverBodyOf } from '../domain/server/body.ts'
import { mapSecrets } from '../registry/servers/server-secrets.ts'

/**
 * What two servers of one owner and of one body have in common. The values of secrets are left out: an import
 * must not tell by trial what is stored.
 */
export function comparable(record: ServerRecord): JsonObject {
  const { name, enabled, ...body } = serverBodyOf(mapSecrets(record, () => ''))
  return body
}
