import type { JsonObject } from '../../contract/json.ts'

/** Read-only folder of a server's bundle inside the sandbox. */
export const BUNDLE_FOLDER = '/opt/package'

/** SHA-256 of the bundle that a configuration of a process runs; undefined: none. */
export function bundleOf({ bundle }: JsonObject): string | undefined {
  return typeof bundle === 'string' && bundle !== '' ? bundle : undefined
}
