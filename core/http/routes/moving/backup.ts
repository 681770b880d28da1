import type { BackupDownloads } from '../../../moving/backup/download.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { requireRecentSignIn } from '../people/recent-sign-in.ts'

/** Dependencies of the download of a backup. */
export interface BackupRoutesDeps {
  readonly registry: Pick<Registry, 'audit'>
  readonly backups: BackupDownloads
}

/** The whole of the hub as a file, for `patchbay restore`. */
export function backupRoutes({ registry, backups }: BackupRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/admin/backup',
      access: 'admin',
      summary: 'The database and the settings file as one file; needs a sign-in of the last five minutes',
      tag: 'administration',
      responses: {
        200: { description: 'gzip of JSON lines, for "patchbay restore"', contentType: 'application/gzip' },
      },
      async handle({ actor, info }) {
        requireRecentSignIn(actor)
        const stream = await backups.make()
        registry.audit.record(actor, { action: 'hub.backup', target: 'hub', ownerId: null, request: info })
        const name = `patchbay-${new Date().toISOString().slice(0, 10)}.backup`
        return new Response(stream, {
          headers: { 'content-type': 'application/gzip', 'content-disposition': `attachment; filename="${name}"` },
        })
      },
    }),
  ]
}
