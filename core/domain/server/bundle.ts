import type { JsonObject } from '../../contract/json.ts'

/** Where a server's bundle lies inside the sandbox, read-only. */
export const BUNDLE_FOLDER = '/opt/package'

/** SHA-256 of the bundle that a configuration of a process runs; undefined: none. */
export function bundleOf({ bundle }: JsonObject): string | undefined {
  return typeof bundle === 'string' && bundle !== '' ? bundle : undefined
}
