import { join } from 'node:path'
import { type Finished, patchbay } from '../unit/cli/running-hub.ts'
import type { Hub } from './hub.ts'

/** Runs a command of the CLI on a hub's folder, whether or not the hub is running. */
export function inFolder(
  folder: string,
  argv: readonly string[],
  { env = {}, stdin = '' }: { readonly env?: Readonly<Record<string, string>>; readonly stdin?: string } = {},
): Promise<Finished> {
  const where = { DATA_DIR: join(folder, 'data'), SETTINGS_FILE: join(folder, 'mcp_settings.json') }
  return patchbay(argv, { cwd: folder, env: { ...where, ...env }, stdin })
}

/**
 * Content that people created in a hub, as its API shows it to the administrator, without the parts that differ between two
 * hubs.
 */
export async function contentOf(hub: Hub): Promise<unknown> {
  const admin = await hub.signIn('admin')
  const lists = await Promise.all(
    [
      '/api/servers?scope=all&sort=name',
      '/api/groups?scope=all',
      '/api/keys',
      '/api/admin/users',
      '/api/monitoring/rules',
      '/api/monitoring/channels',
      '/api/monitoring/dashboards',
    ].map(async path => (await admin.ok('GET', path)).items),
  )
  const changing = new Set([
    'status',
    'endpoint',
    'lastUsedAt',
    'tokens',
    'state',
    'health',
    'warnings',
    'signIns',
    'lastSeenAt',
  ])
  // In a group, a number that grows while its members start.
  const isChanging = (key: string, value: unknown) =>
    changing.has(key) || (key === 'tools' && typeof value === 'number')
  return JSON.parse(JSON.stringify(lists, (key, value) => (isChanging(key, value) ? undefined : value)))
}
